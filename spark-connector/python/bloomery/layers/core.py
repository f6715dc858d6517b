"""Input, Dense and the layers that need no company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from bloomery.layers.layer import Layer, RegularizerOption, Tensor


@dataclass(eq=False, repr=False, init=False)
class Input(Layer, Tensor):
    """The shape of one row, without the batch: `Input(28, 28, 1)`, or as Keras has it, `Input(shape=(28, 28, 1))`.

    `dtype` says what a binary column holds; `scale` multiplies every value when a batch is assembled.
    """

    shape: list[int]
    dtype: str | None
    scale: float | None

    def __init__(
        self,
        *extents: int | Sequence[int],
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
        scale: float | None = None,
        name: str | None = None,
    ) -> None:
        if extents and shape is not None:
            raise TypeError(f"Input has its shape twice: extents {extents}, shape {shape}")
        Layer.__init__(self, name=name)
        Tensor.__init__(self, self, ())
        one = extents[0] if len(extents) == 1 else None
        given: Any = shape if shape is not None else one if isinstance(one, list | tuple) else extents
        self.shape = list(given)
        self.dtype = dtype
        self.scale = scale


@dataclass(eq=False, repr=False)
class Dense(Layer):
    """A fully connected layer, over the last axis."""

    units: int
    activation: str | None = None
    _: KW_ONLY
    use_bias: bool | None = None
    kernel_initializer: str | None = None
    bias_initializer: str | None = None
    kernel_regularizer: RegularizerOption | None = None
    bias_regularizer: RegularizerOption | None = None
    trainable: bool | None = None


@dataclass(eq=False, repr=False)
class Embedding(Layer):
    """Turns indices (steps,) into vectors (steps, output_dim); with `mask_zero` steps of index 0 are skipped behind."""

    input_dim: int
    output_dim: int
    _: KW_ONLY
    embeddings_initializer: str | None = None
    embeddings_regularizer: RegularizerOption | None = None
    mask_zero: bool | None = None
    trainable: bool | None = None


@dataclass(eq=False, repr=False)
class Dropout(Layer):
    """Sets a share `rate` of the values to zero while training and scales the others up."""

    rate: float


@dataclass(eq=False, repr=False)
class Rescaling(Layer):
    """Every value times `scale`, plus `offset`."""

    scale: float
    offset: float | None = None
