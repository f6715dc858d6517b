"""Normalisations over the last axis."""

from __future__ import annotations

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
