"""A network as a stack of layers; what it really is, is its JSON (docs/network-json.md)."""

from __future__ import annotations

import json
from typing import Any

from bloomery import jvm
from bloomery.layers import Layer


class Sequential:
    """Layers in the order they run: the first is an Input, each takes the output of the one before."""

    def __init__(self, *layers: Layer, name: str | None = None) -> None:
        for layer in layers:
            if not isinstance(layer, Layer):
                raise TypeError(f"Not a layer: {layer!r}, give bloomery.layers such as Dense(10)")
        named = {} if name is None else {"name": name}
        self._json: dict[str, Any] = {
            "format": "bloomery-network",
            "version": 1,
            **named,
            "layers": [layer.to_dict() for layer in layers],
        }

    @classmethod
    def from_json(cls, text: str) -> Sequential:
        """The network that a JSON text describes, kept as it stands."""
        network = cls()
        network._json = json.loads(text)
        return network

    def to_json(self) -> str:
        """The network as JSON: what the Scala builder writes too."""
        return json.dumps(self._json)

    def describe(self) -> dict[str, Any]:
        """What the engine says of the network: shapes, parameters, FLOPs and memory; a UserError when it is wrong."""
        return jvm.describe(self.to_json())

    def summary(self) -> None:
        """Prints the engine's table of layers, output shapes and parameters."""
        print(self.describe()["summary"], end="")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequential) and self._json == other._json

    def __repr__(self) -> str:
        kinds = ", ".join(layer.get("kind", "?") for layer in self._json.get("layers", []))
        return f"Sequential({kinds})"
