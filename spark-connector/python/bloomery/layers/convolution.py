"""Convolutions, channels last."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from bloomery.layers.layer import Layer, Pair, RegularizerOption


@dataclass(eq=False, repr=False)
class Conv2D(Layer):
    """A convolution over (height, width, channels)."""

    filters: int
    kernel_size: Pair
    strides: Pair | None = None
    padding: str | None = None
    _: KW_ONLY
    dilation_rate: Pair | None = None
    groups: int | None = None
    activation: str | None = None
    use_bias: bool | None = None
    kernel_initializer: str | None = None
    bias_initializer: str | None = None
    kernel_regularizer: RegularizerOption | None = None
    bias_regularizer: RegularizerOption | None = None
    trainable: bool | None = None


class Conv1D(Conv2D):
    """A convolution over (steps, channels)."""


@dataclass(eq=False, repr=False)
class DepthwiseConv2D(Layer):
    """A convolution of each channel of (height, width, channels) by itself."""

    kernel_size: Pair
    strides: Pair | None = None
    padding: str | None = None
    depth_multiplier: int | None = None
    _: KW_ONLY
    dilation_rate: Pair | None = None
    activation: str | None = None
    use_bias: bool | None = None
    depthwise_initializer: str | None = None
    bias_initializer: str | None = None
    depthwise_regularizer: RegularizerOption | None = None
    bias_regularizer: RegularizerOption | None = None
    trainable: bool | None = None
