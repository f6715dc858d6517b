"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from bloomery.layers.layer import Layer


@dataclass(eq=False, repr=False)
class BatchNormalization(Layer):
    """Each channel by the mean and variance of the batch, or by their running means when it does not train."""

    _: KW_ONLY
    momentum: float | None = None
    epsilon: float | None = None
    center: bool | None = None
    scale: bool | None = None
    synchronized: bool | None = None
    trainable: bool | None = None


@dataclass(eq=False, repr=False)
class LayerNormalization(Layer):
    """Each row, or step, by the mean and variance of its own values."""

    _: KW_ONLY
    epsilon: float | None = None
    center: bool | None = None
    scale: bool | None = None
    trainable: bool | None = None


@dataclass(eq=False, repr=False)
class Normalization(Layer):
    """Each feature by its mean and variance: given, or those of the rows of training, which `fit` then loads first.

    There is no `adapt`: `fit` measures all training rows, wherever they are. `axis=None`: one mean for all values.
    """

    axis: int | Sequence[int] | None = -1
    _: KW_ONLY
    mean: float | Sequence[float] | None = None
    variance: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        self.axis = [] if self.axis is None else self.axis
