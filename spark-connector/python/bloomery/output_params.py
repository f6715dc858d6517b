"""The params of a network's outputs: labels, losses, metrics and the columns that a model adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasThresholds,
    HasWeightCol,
)

from bloomery.losses import Loss
from bloomery.metrics import Metric
from bloomery.params import (
    FeatureParams,
    NamedInputParams,
    Settable,
    by_name_text,
    class_weights_text,
    loss_by_output_text,
    loss_text,
    metric_texts,
    metrics_by_output_text,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class WeightParams(Settable, HasWeightCol):
    """The weights of rows."""

    def setWeightCol(self, value: str) -> Self:
        """The column of row weights."""
        return self.setParams(weightCol=value)


class OneOutputParams(FeatureParams, WeightParams, HasLabelCol, HasPredictionCol):
    """A network with one output: its labels, loss and metrics."""

    _owner = Params._dummy()

    loss: Param[str] = Param(
        _owner,
        "loss",
        'a name such as categorical_crossentropy or mse, or JSON such as {"kind": "huber", "delta": 1.0}',
        loss_text,
    )
    metrics: Param[list[str]] = Param(
        _owner, "metrics", "what to report beside the loss: names such as accuracy, or JSON", metric_texts
    )

    def getLoss(self) -> str:
        """The loss."""
        return self.getOrDefault(self.loss)

    def getMetrics(self) -> list[str]:
        """The metrics that are reported beside the loss."""
        return self.getOrDefault(self.metrics)

    def setLoss(self, value: Loss | str | dict[str, Any]) -> Self:
        """One of bloomery.losses, its name, or a dict such as {"kind": "huber", "delta": 2.0}."""
        return self.setParams(loss=value)

    def setMetrics(self, value: list[Metric | str | dict[str, Any]] | list[str]) -> Self:
        """What to report beside the loss: of bloomery.metrics, or names such as accuracy."""
        return self.setParams(metrics=value)

    def setLabelCol(self, value: str) -> Self:
        """The column of class indices or values."""
        return self.setParams(labelCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """The column that the model adds for its prediction."""
        return self.setParams(predictionCol=value)


class ClassWeightParams(Settable):
    """What rows of a class weigh."""

    _owner = Params._dummy()

    classWeights: Param[str] = Param(
        _owner,
        "classWeights",
        'what rows of a class weigh, as JSON such as {"0": 1.0, "3": 2.5}; others weigh 1',
        class_weights_text,
    )

    def getClassWeights(self) -> str:
        """What rows of a class weigh, as JSON."""
        return self.getOrDefault(self.classWeights)

    def setClassWeights(self, value: dict[Any, Any] | list[float] | str) -> Self:
        """What rows of a class weigh, by class index, others weigh 1; or a list with a weight for each class."""
        return self.setParams(classWeights=value)


class ClassificationParams(OneOutputParams, HasProbabilityCol, HasRawPredictionCol, HasThresholds):
    """A classifier and its model."""

    _owner = Params._dummy()

    labelVocabulary: Param[list[str]] = Param(
        _owner,
        "labelVocabulary",
        "the words of the label column that are the classes, in the order of their indices",
        TypeConverters.toListString,
    )

    def getLabelVocabulary(self) -> list[str]:
        """The words of the label column that are the classes."""
        return self.getOrDefault(self.labelVocabulary)

    def setLabelVocabulary(self, value: list[str]) -> Self:
        """The words of the label column that are the classes, in the order of their indices."""
        return self.setParams(labelVocabulary=value)

    def setProbabilityCol(self, value: str) -> Self:
        """The column that the model adds for the classes' probabilities."""
        return self.setParams(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Self:
        """The column that the model adds for the network's output before softmax."""
        return self.setParams(rawPredictionCol=value)

    def setThresholds(self, value: list[float]) -> Self:
        """One for each class: the class whose probability divided by its threshold is the largest is predicted."""
        return self.setParams(thresholds=value)


class RegressionParams(OneOutputParams):
    """A regressor and its model."""

    _owner = Params._dummy()

    labelCols: Param[list[str]] = Param(
        _owner,
        "labelCols",
        "several columns of targets, one for each value of the network's output, instead of labelCol",
        TypeConverters.toListString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(loss="mean_squared_error")

    def getLabelCols(self) -> list[str]:
        """The columns of targets, one for each value of the output."""
        return self.getOrDefault(self.labelCols)

    def setLabelCols(self, value: list[str]) -> Self:
        """Several columns of targets, one for each value of the network's output, instead of labelCol."""
        return self.setParams(labelCols=value)


class NamedOutputParams(NamedInputParams, WeightParams, ClassWeightParams):
    """A network with any number of outputs, each known by its name."""

    _owner = Params._dummy()

    labelCols: Param[str] = Param(
        _owner,
        "labelCols",
        'the column of each output\'s targets, as JSON such as {"price": "cost", "species": {"column": "name",'
        ' "vocabulary": ["a", "b"]}}; a list names one column for each value of the output',
        by_name_text,
    )
    outputCols: Param[str] = Param(
        _owner,
        "outputCols",
        'the column that is added for each output, as JSON such as {"price": "guess"}; an output that is not named'
        " gives prediction_ and its name",
        by_name_text,
    )
    loss: Param[str] = Param(
        _owner,
        "loss",
        'a name, JSON such as {"kind": "huber"}, or one for each output, as JSON such as {"price": "mse", "species":'
        ' "categorical_crossentropy"}',
        loss_by_output_text,
    )
    lossWeights: Param[str] = Param(
        _owner,
        "lossWeights",
        'how much the loss of each output counts, as JSON such as {"price": 0.5}; others count 1',
        by_name_text,
    )
    metrics: Param[str] = Param(
        _owner,
        "metrics",
        'what to report beside the losses, as JSON such as {"price": ["mae"], "species": ["accuracy"]}',
        metrics_by_output_text,
    )

    def getLabelCols(self) -> str:
        """The column of each output's targets, as JSON."""
        return self.getOrDefault(self.labelCols)

    def getOutputCols(self) -> str:
        """The column that is added for each output, as JSON."""
        return self.getOrDefault(self.outputCols)

    def getLoss(self) -> str:
        """The loss of all outputs, or of each as JSON."""
        return self.getOrDefault(self.loss)

    def getLossWeights(self) -> str:
        """How much the loss of each output counts, as JSON."""
        return self.getOrDefault(self.lossWeights)

    def getMetrics(self) -> str:
        """The metrics of each output, as JSON."""
        return self.getOrDefault(self.metrics)

    def setLabelCols(self, value: dict[str, Any] | str) -> Self:
        """The column of each output's targets: {output: column}, a dict with a vocabulary, or a list of columns."""
        return self.setParams(labelCols=value)

    def setOutputCols(self, value: dict[str, str] | str) -> Self:
        """The column that the model adds for each output: {output: column}."""
        return self.setParams(outputCols=value)

    def setLoss(self, value: dict[str, Any] | Loss | str) -> Self:
        """One loss for all outputs, or {output: loss}."""
        return self.setParams(loss=value)

    def setLossWeights(self, value: dict[str, float] | str) -> Self:
        """How much the loss of each output counts: {output: weight}."""
        return self.setParams(lossWeights=value)

    def setMetrics(self, value: dict[str, list[Any]] | list[Any] | str) -> Self:
        """What to report beside the losses: {output: metrics}, or metrics of all outputs."""
        return self.setParams(metrics=value)
