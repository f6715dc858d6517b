"""Networks that are used as yardsticks, ready to train."""

from __future__ import annotations

from bloomery import layers as L
from bloomery.network import Sequential


def mnist_cnn() -> Sequential:
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
