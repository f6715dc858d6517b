"""Networks that are used as yardsticks, ready to train."""

from __future__ import annotations

from collections.abc import Sequence

from bloomery import layers as L
from bloomery.network import Model, Network, Sequential
from bloomery.regularizers import L2


def mnist_cnn() -> Network:
    """The convolutional network for MNIST: 28x28x1 bytes, ten classes, 1,199,882 parameters."""
    return Sequential(
        L.Input(28, 28, 1, dtype="uint8", scale=1 / 255),
        L.Conv2D(32, 3, activation="relu"),
        L.Conv2D(64, 3, activation="relu"),
        L.MaxPool2D(2),
        L.Dropout(0.25),
        L.Flatten(),
        L.Dense(128, activation="relu"),
        L.Dropout(0.5),
        L.Dense(10, activation="softmax"),
        name="mnist-cnn",
    )


def cifar_resnet56v2() -> Network:
    """ResNet v2 of depth 56 for CIFAR-10: 32x32x3 bytes, ten classes, 1,673,738 parameters, 1,663,338 trained."""

    def convolution(x: L.Tensor, filters: int, kernel_size: int, strides: int = 1) -> L.Tensor:
        return L.Conv2D(
            filters, kernel_size, strides, "same", kernel_initializer="he_normal", kernel_regularizer=L2(1e-4)
        )(x)

    def activated(x: L.Tensor) -> L.Tensor:
        return L.ReLU()(L.BatchNormalization()(x))

    inputs = L.Input(32, 32, 3, dtype="uint8", scale=1 / 255)
    x = activated(convolution(inputs, 16, 3))
    narrow, wide = 16, 64
    for stage in range(3):
        for block in range(6):
            strides = 2 if stage > 0 and block == 0 else 1
            y = x if stage == 0 and block == 0 else activated(x)
            y = convolution(y, narrow, 1, strides)
            y = convolution(activated(y), narrow, 3)
            y = convolution(activated(y), wide, 1)
            shortcut = convolution(x, wide, 1, strides) if block == 0 else x
            x = L.Add()([shortcut, y])
        narrow, wide = wide, 2 * wide
    x = L.Flatten()(L.AveragePool2D(8)(activated(x)))
    outputs = L.Dense(10, "softmax", kernel_initializer="he_normal")(x)
    return Model(inputs, outputs, name="cifar-resnet56v2")


def captioning() -> Network:
    """The next word of an image's caption, from the image's features and the words so far: 5,527,963 parameters."""
    features = L.Input(4096, name="features")
    tokens = L.Input(34, dtype="int32", name="tokens")
    image = L.Dense(256, "relu")(L.Dropout(0.5)(features))
    words = L.Dropout(0.5)(L.Embedding(7579, 256, mask_zero=True)(tokens))
    x = L.Add()([image, L.LSTM(256)(words)])
    outputs = L.Dense(7579, "softmax")(L.Dense(256, "relu")(x))
    return Model([features, tokens], outputs, name="captioning")


def fish_resnet34() -> Network:
    """ResNet-34 for 197x148x1 bytes and nine classes: 21,300,041 parameters, 21,283,017 trained.

    It is torchvision's: where a stride comes with padding, the zeros stand on both sides.
    """

    def convolution(x: L.Tensor, filters: int, kernel_size: int, strides: int = 1) -> L.Tensor:
        if strides > 1 and kernel_size > 1:
            x = L.ZeroPadding2D(kernel_size // 2)(x)
        padding = "same" if strides == 1 else "valid"
        x = L.Conv2D(filters, kernel_size, strides, padding, use_bias=False, kernel_initializer="he_normal")(x)
        return L.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)

    inputs = L.Input(197, 148, 1, dtype="uint8", scale=1 / 255)
    x = L.ReLU()(convolution(inputs, 64, 7, 2))
    x = L.MaxPool2D(3, 2)(L.ZeroPadding2D(1)(x))
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            strides = 2 if filters > 64 and block == 0 else 1
            y = L.ReLU()(convolution(x, filters, 3, strides))
            y = convolution(y, filters, 3)
            shortcut = convolution(x, filters, 1, strides) if strides > 1 else x
            x = L.ReLU()(L.Add()([shortcut, y]))
    outputs = L.Dense(9, "softmax")(L.GlobalAveragePool2D()(x))
    return Model(inputs, outputs, name="fish-resnet34")


def solar_mlp(k: int = 1, hidden: Sequence[int] = (50, 25, 13)) -> Network:
    """A regression from 50 numbers, its hidden layers k times as wide as given: 183,511 parameters for k = 10."""
    layers = [L.Dense(k * units, "relu") for units in hidden]
    return Sequential(L.Input(50), *layers, L.Dense(1), name=f"solar-mlp-{k}")


def solar_cnn() -> Network:
    """A regression from an image of 50x50x1 numbers: 4,352,641 parameters."""
    return Sequential(
        L.Input(50, 50, 1),
        L.Conv2D(32, 3, activation="relu"),
        L.Conv2D(64, 3, activation="relu"),
        L.MaxPool2D(2),
        L.Dropout(0.25),
        L.Flatten(),
        L.Dense(128, activation="relu"),
        L.Dropout(0.5),
        L.Dense(1),
        name="solar-cnn",
    )
