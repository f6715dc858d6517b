"""The layers of a network, with Keras's names and options. See docs/network-json.md for each option's meaning.

A layer only writes down what it was given. Defaults, shapes and every check belong to the engine, so a wrong value
is found by `Sequential.summary()` or `NeuralNetClassifier.fit()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bloomery.names import camel_case, suggesting

Pair = int | tuple[int, int] | list[int]


class Layer:
    """One layer: its kind and the options that were given."""

    def __init__(self, **options: Any) -> None:
        given = {camel_case(key): value for key, value in options.items() if value is not None}
        self._json: dict[str, Any] = {"kind": type(self).__name__, **given}

    def to_dict(self) -> dict[str, Any]:
        """The layer as the network JSON has it."""
        return dict(self._json)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._json.items() if key != "kind")
        return f"{self._json['kind']}({options})"


class Input(Layer):
    """The shape of one row, without the batch: `Input(28, 28, 1)`, or with Keras's keyword `Input(shape=(28, 28, 1))`.

    `dtype` says what a binary column holds; `scale` multiplies every value when a batch is assembled.
    """

    @suggesting
    def __init__(
        self,
        *extents: int,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
        scale: float | None = None,
        name: str | None = None,
    ) -> None:
        if extents and shape is not None:
            raise TypeError(f"Input has its shape twice: extents {extents}, shape {shape}")
        super().__init__(name=name, shape=list(extents if shape is None else shape), dtype=dtype, scale=scale)


class Conv2D(Layer):
    """A convolution over (height, width, channels)."""

    @suggesting
    def __init__(
        self,
        filters: int,
        kernel_size: Pair,
        strides: Pair | None = None,
        padding: str | None = None,
        *,
        activation: str | None = None,
        use_bias: bool | None = None,
        kernel_initializer: str | None = None,
        bias_initializer: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            name=name,
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
        )


class MaxPool2D(Layer):
    """The largest value of each window of (height, width, channels)."""

    @suggesting
    def __init__(
        self,
        pool_size: Pair | None = None,
        strides: Pair | None = None,
        padding: str | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, pool_size=pool_size, strides=strides, padding=padding)


class Dropout(Layer):
    """Sets a share `rate` of the values to zero while training and scales the others up."""

    @suggesting
    def __init__(self, rate: float, *, name: str | None = None) -> None:
        super().__init__(name=name, rate=rate)


class Flatten(Layer):
    """All values of a row in one dimension."""

    @suggesting
    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)


class Dense(Layer):
    """A fully connected layer."""

    @suggesting
    def __init__(
        self,
        units: int,
        activation: str | None = None,
        *,
        use_bias: bool | None = None,
        kernel_initializer: str | None = None,
        bias_initializer: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            name=name,
            units=units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
        )


class Activation(Layer):
    """An activation on its own: "linear", "relu" or "softmax"."""

    @suggesting
    def __init__(self, function: str, *, name: str | None = None) -> None:
        super().__init__(name=name, function=function)


class ReLU(Layer):
    """The same as `Activation("relu")`."""

    @suggesting
    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)


class Softmax(Layer):
    """The same as `Activation("softmax")`."""

    @suggesting
    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)
