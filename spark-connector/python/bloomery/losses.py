"""The losses, with Keras's names and options. See docs/losses.md for what each computes.

>>> NeuralNetClassifier(loss=losses.CategoricalCrossentropy(label_smoothing=0.1), ...)

A loss only writes down what it was given; defaults and checks belong to the engine.
"""

from __future__ import annotations

from typing import Any, ClassVar

from bloomery.names import camel_case, suggesting


class Loss:
    """One loss: its kind and the options that were given."""

    kind: ClassVar[str]

    def __init__(self, **options: Any) -> None:
        given = {camel_case(key): value for key, value in options.items() if value is not None}
        self._json = {"kind": self.kind, **given}

    def to_dict(self) -> dict[str, Any]:
        """The loss as the training JSON has it."""
        return dict(self._json)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._json.items() if key != "kind")
        return f"{type(self).__name__}({options})"


class CategoricalCrossentropy(Loss):
    """For one class of several; labels are class indices or vectors of probabilities."""

    kind = "categorical_crossentropy"

    @suggesting
    def __init__(self, from_logits: bool | None = None, label_smoothing: float | None = None) -> None:
        super().__init__(from_logits=from_logits, label_smoothing=label_smoothing)


class SparseCategoricalCrossentropy(Loss):
    """The same with class indices only."""

    kind = "sparse_categorical_crossentropy"

    @suggesting
    def __init__(self, from_logits: bool | None = None, label_smoothing: float | None = None) -> None:
        super().__init__(from_logits=from_logits, label_smoothing=label_smoothing)


class BinaryCrossentropy(Loss):
    """For outputs that each decide by themselves."""

    kind = "binary_crossentropy"

    @suggesting
    def __init__(self, from_logits: bool | None = None, label_smoothing: float | None = None) -> None:
        super().__init__(from_logits=from_logits, label_smoothing=label_smoothing)


class MeanSquaredError(Loss):
    """The mean of squared differences."""

    kind = "mean_squared_error"

    @suggesting
    def __init__(self) -> None:
        super().__init__()


class MeanAbsoluteError(Loss):
    """The mean of differences without their sign."""

    kind = "mean_absolute_error"

    @suggesting
    def __init__(self) -> None:
        super().__init__()


class Huber(Loss):
    """Half the square up to `delta`, straight beyond it."""

    kind = "huber"

    @suggesting
    def __init__(self, delta: float | None = None) -> None:
        super().__init__(delta=delta)
