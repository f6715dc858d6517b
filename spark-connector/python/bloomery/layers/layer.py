"""What all layers have in common. A kind is a dataclass: its fields are the options of the network JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from bloomery.names import camel_case, check_keywords, user_code
from bloomery.regularizers import Regularizer

Pair = int | tuple[int, int] | list[int]
RegularizerOption = Regularizer | dict[str, float]


class Tensor:
    """What a layer gives when it is called: an output inside a network that is still being described."""

    def __init__(self, layer: Layer, inputs: Sequence[Tensor]) -> None:
        self.layer = layer
        self.inputs = tuple(inputs)

    def __repr__(self) -> str:
        return f"Tensor of {self.layer!r}"


@dataclass(eq=False, repr=False)
class Layer:
    """One layer: its kind and the options that were given, those left out being None."""

    name: str | None = field(default=None, kw_only=True)

    def __new__(cls, *args: Any, **kwargs: Any) -> Layer:
        if not cls.__module__.startswith(f"{__package__}."):
            raise user_code(cls)
        check_keywords(cls.__name__, cls.__init__, kwargs)
        return super().__new__(cls)

    def __call__(self, inputs: Tensor | Sequence[Tensor]) -> Tensor:
        """The layer's output for an Input or another layer's output, or for a list of them."""
        given: Sequence[Any] = inputs if isinstance(inputs, list | tuple) else [inputs]
        for each in given:
            if not isinstance(each, Tensor):
                raise TypeError(
                    f"Not a layer's output: {each!r}, give an Input or what a layer gave when it was called"
                )
        return Tensor(self, given)

    def to_dict(self) -> dict[str, Any]:
        """The layer as the network JSON has it."""
        options = {camel_case(each.name): getattr(self, each.name) for each in fields(self)}
        given = {key: _plain(value) for key, value in options.items() if value is not None}
        return {"kind": type(self).__name__, **given}

    def __repr__(self) -> str:
        kind, *options = self.to_dict().items()
        return f"{kind[1]}({', '.join(f'{key}={value!r}' for key, value in options)})"


def _plain(value: Any) -> Any:
    if isinstance(value, Regularizer):
        return value.to_dict()
    if callable(value):
        raise user_code(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain(each) for each in value)
    return value.tolist() if hasattr(value, "tolist") else value  # an array or a number of NumPy
