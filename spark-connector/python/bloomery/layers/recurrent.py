"""Recurrent layers over (steps, channels)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from bloomery.layers.layer import Layer, RegularizerOption


@dataclass(eq=False, repr=False)
class LSTM(Layer):
    """Long short-term memory: the last step's output, or all of them with `return_sequences`."""

    units: int
    _: KW_ONLY
    use_bias: bool | None = None
    kernel_initializer: str | None = None
    recurrent_initializer: str | None = None
    unit_forget_bias: bool | None = None
    kernel_regularizer: RegularizerOption | None = None
    return_sequences: bool | None = None
    go_backwards: bool | None = None
    trainable: bool | None = None


@dataclass(eq=False, repr=False)
class GRU(Layer):
    """Gated recurrent units: the last step's output, or all of them with `return_sequences`."""

    units: int
    _: KW_ONLY
    use_bias: bool | None = None
    kernel_initializer: str | None = None
    recurrent_initializer: str | None = None
    kernel_regularizer: RegularizerOption | None = None
    return_sequences: bool | None = None
    go_backwards: bool | None = None
    trainable: bool | None = None


@dataclass(eq=False, repr=False)
class Bidirectional(Layer):
    """An LSTM or a GRU and a second one that reads backwards, their outputs side by side."""

    layer: Layer

    def to_dict(self) -> dict[str, Any]:
        """The layer inside, marked as bidirectional and under this one's name if it has one."""
        inside = self.layer.to_dict()
        named = {} if self.name is None else {"name": self.name}
        return {"kind": inside["kind"], **named, **inside, **named, "bidirectional": True}
