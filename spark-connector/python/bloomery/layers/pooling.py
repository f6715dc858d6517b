"""Windows, or whole images and sequences, as one value per channel."""

from __future__ import annotations

from dataclasses import dataclass

from bloomery.layers.layer import Layer, Pair


@dataclass(eq=False, repr=False)
class Pooling(Layer):
    """What the kinds with windows have in common; not a kind itself."""

    pool_size: Pair | None = None
    strides: Pair | None = None
    padding: str | None = None


class MaxPool1D(Pooling):
    """The largest value of each window of (steps, channels)."""


class MaxPool2D(Pooling):
    """The largest value of each window of (height, width, channels)."""


class AveragePool1D(Pooling):
    """The mean of each window of (steps, channels)."""


class AveragePool2D(Pooling):
    """The mean of each window of (height, width, channels)."""


class GlobalMaxPool1D(Layer):
    """The largest value of each channel of (steps, channels)."""


class GlobalMaxPool2D(Layer):
    """The largest value of each channel of (height, width, channels)."""


class GlobalAveragePool1D(Layer):
    """The mean of each channel of (steps, channels)."""


class GlobalAveragePool2D(Layer):
    """The mean of each channel of (height, width, channels)."""
