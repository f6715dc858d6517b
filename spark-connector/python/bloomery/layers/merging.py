"""Layers with several inputs: `Add()([a, b])`."""

from __future__ import annotations

from dataclasses import dataclass

from bloomery.layers.layer import Layer


class Add(Layer):
    """The sum, element by element."""


class Multiply(Layer):
    """The product, element by element."""


@dataclass(eq=False, repr=False)
class Concatenate(Layer):
    """Side by side on the last axis."""

    axis: int | None = None
