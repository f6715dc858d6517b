"""The same values in another shape, or with zeros around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bloomery.layers.layer import Layer, Pair


class Flatten(Layer):
    """All values of a row in one dimension."""


@dataclass(eq=False, repr=False)
class Reshape(Layer):
    """The values of a row in another shape; one extent may be -1: what is left over."""

    target_shape: Sequence[int]


@dataclass(eq=False, repr=False)
class ZeroPadding2D(Layer):
    """Zeros around an image: a number, (vertical, horizontal), or ((above, below), (left, right))."""

    padding: Pair | tuple[Pair, Pair]
