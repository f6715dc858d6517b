"""Activations as layers of their own."""

from __future__ import annotations

from dataclasses import dataclass

from bloomery.layers.layer import Layer


@dataclass(eq=False, repr=False)
class Activation(Layer):
    """An activation by its name, such as "relu"; softmax runs over the last axis."""

    function: str


class ReLU(Layer):
    """The same as `Activation("relu")`."""


@dataclass(eq=False, repr=False)
class LeakyReLU(Layer):
    """ReLU that is not flat below zero."""

    negative_slope: float | None = None


@dataclass(eq=False, repr=False)
class ELU(Layer):
    """ReLU that goes over to alpha * (exp(x) - 1) below zero."""

    alpha: float | None = None


class Softmax(Layer):
    """The same as `Activation("softmax")`."""
