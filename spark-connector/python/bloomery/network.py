"""A network, as a stack or as a graph of layers; what it really is, is its JSON (docs/network-json.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bloomery import jvm
from bloomery.errors import UserError
from bloomery.json_text import json_text
from bloomery.layers import Input, Layer, Tensor
from bloomery.names import snake_case, user_code


class Network:
    """A network as its JSON; whether it makes sense is the engine's to say."""

    def __init__(self, layers: list[dict[str, Any]], name: str | None = None, **more: Any) -> None:
        named = {} if name is None else {"name": name}
        self._json: dict[str, Any] = {"format": "bloomery-network", "version": 1, **named, "layers": layers, **more}

    @staticmethod
    def from_json(text: str) -> Network:
        """The network that a JSON text describes, kept as it stands."""
        network = Network([])
        network._json = json.loads(text)
        return network

    def to_json(self) -> str:
        """The network as JSON: what the Scala builder writes too."""
        return json_text(self._json)

    def describe(self) -> dict[str, Any]:
        """What the engine says of the network: shapes, parameters, FLOPs and memory; a UserError when it is wrong."""
        return jvm.describe(self.to_json())

    def summary(self) -> None:
        """Prints the engine's table of layers, output shapes and parameters."""
        print(self.describe()["summary"], end="")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        kinds = ", ".join(layer.get("kind", "?") for layer in self._json.get("layers", []))
        return f"{type(self).__name__}({kinds})"


class Sequential(Network):
    """Layers in the order they run: the first is an Input, each takes the output of the one before."""

    def __init__(self, *layers: Layer | Sequence[Layer], name: str | None = None) -> None:
        one = layers[0] if len(layers) == 1 else None
        listed: Sequence[Any] = one if isinstance(one, list | tuple) else layers  # a list, as Keras takes it
        for layer in listed:
            if callable(layer) and not isinstance(layer, Layer):
                raise user_code(layer)
            if not isinstance(layer, Layer):
                raise TypeError(f"Not a layer: {layer!r}, give bloomery.layers such as Dense(10)")
        super().__init__([layer.to_dict() for layer in listed], name)


class Model(Network):
    """Layers as a graph: all that leads from `inputs`, in this order, to `outputs`.

    >>> x = Input(4)
    >>> h = Dense(8, "relu")(x)
    >>> network = Model(x, Dense(3, "softmax")(Add()([h, Dense(8)(x)])))

    A layer that is called twice stands in the network twice and learns one set of parameters.
    """

    def __init__(
        self, inputs: Input | Sequence[Input], outputs: Tensor | Sequence[Tensor], name: str | None = None
    ) -> None:
        starts: list[Any] = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        ends: list[Any] = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        for start in starts:
            if not isinstance(start, Input):
                raise TypeError(f"Not an Input: {start!r}, in inputs of a Model")
        for end in ends:
            if not isinstance(end, Tensor):
                raise TypeError(f"Not a layer's output: {end!r}, in outputs of a Model")
        tensors = _ordered(starts, ends)
        for tensor in tensors:
            if isinstance(tensor, Input) and tensor not in starts:
                raise UserError(f"Input is not among the inputs of the Model: {tensor.layer!r}, add it")
        names = _names(tensors)
        super().__init__(_layers(tensors, names), name, outputs=[names[end] for end in ends])


def _ordered(starts: Sequence[Tensor], ends: Sequence[Tensor]) -> list[Tensor]:
    """The starts, then what leads to the ends, each behind what it takes. Own stack: a network may be deep."""
    done: dict[Tensor, None] = dict.fromkeys(starts)
    for end in ends:
        stack = [end]
        while stack:
            missing = [tensor for tensor in stack[-1].inputs if tensor not in done]
            if missing:
                stack.append(missing[0])
            else:
                done.setdefault(stack.pop())
    return list(done)


def _names(tensors: Sequence[Tensor]) -> dict[Tensor, str]:
    """Each call's name: the layer's own for its first call, else made from it or from the kind as the engine does."""
    given = {tensor: tensor.layer.to_dict() for tensor in tensors}
    taken = {layer.get("name") for layer in given.values()}
    called: set[Layer] = set()
    numbers: dict[str, int] = {}
    names: dict[Tensor, str] = {}
    for tensor, layer in given.items():
        own = layer.get("name")
        name = None if tensor.layer in called else own
        base = own or snake_case(layer["kind"])
        while name is None:
            number = numbers[base] = numbers.get(base, -1) + 1
            made = f"{base}_{number}" if number else base
            name = None if made in taken else made
        names[tensor] = name
        taken.add(name)
        called.add(tensor.layer)
    return names


def _layers(tensors: Sequence[Tensor], names: dict[Tensor, str]) -> list[dict[str, Any]]:
    owners: dict[Layer, str] = {}
    written = []
    for tensor in tensors:
        name = names[tensor]
        owner = owners.setdefault(tensor.layer, name)
        layer = {"kind": "", "name": ""} | tensor.layer.to_dict() | {"name": name}
        if not isinstance(tensor, Input):
            layer["inputs"] = [names[each] for each in tensor.inputs]
        if owner != name:
            layer["sharedWith"] = owner
        written.append(layer)
    return written
