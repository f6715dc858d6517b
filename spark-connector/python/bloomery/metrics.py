"""The metrics, with Keras's names and options. See docs/losses.md for what each computes.

>>> NeuralNetClassifier(metrics=["accuracy", metrics.TopKCategoricalAccuracy(3)], ...)

A metric only writes down what it was given; defaults and checks belong to the engine.
"""

from __future__ import annotations

from typing import Any, ClassVar

from bloomery.names import camel_case, suggesting


class Metric:
    """One metric: its kind and the options that were given. It is reported under `name`, by default its kind."""

    kind: ClassVar[str]

    @suggesting
    def __init__(self, name: str | None = None) -> None:
        self._write(name=name)

    def _write(self, **options: Any) -> None:
        given = {camel_case(key): value for key, value in options.items() if value is not None}
        self._json = {"kind": self.kind, **given}

    def to_dict(self) -> dict[str, Any]:
        """The metric as the training JSON has it."""
        return dict(self._json)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._json.items() if key != "kind")
        return f"{type(self).__name__}({options})"


class Accuracy(Metric):
    """The share of right decisions."""

    kind = "accuracy"


class TopKCategoricalAccuracy(Metric):
    """The share of rows whose class is among the k most probable."""

    kind = "top_k_categorical_accuracy"

    @suggesting
    def __init__(self, k: int | None = None, name: str | None = None) -> None:
        self._write(k=k, name=name)


class _Decisions(Metric):
    @suggesting
    def __init__(self, threshold: float | None = None, name: str | None = None) -> None:
        self._write(threshold=threshold, name=name)


class Precision(_Decisions):
    """Of what was chosen, the share that is right; the mean over the classes of a softmax."""

    kind = "precision"


class Recall(_Decisions):
    """Of what should be chosen, the share that was; the mean over the classes of a softmax."""

    kind = "recall"


class F1Score(_Decisions):
    """The harmonic mean of precision and recall; the mean over the classes of a softmax."""

    kind = "f1"


class AUC(Metric):
    """The area under the ROC curve."""

    kind = "auc"


class MeanSquaredError(Metric):
    """The mean of squared differences."""

    kind = "mse"


class RootMeanSquaredError(Metric):
    """The root of the mean of squared differences."""

    kind = "rmse"


class MeanAbsoluteError(Metric):
    """The mean of differences without their sign."""

    kind = "mae"


class R2Score(Metric):
    """How much of the labels' variance the network tells."""

    kind = "r2"
