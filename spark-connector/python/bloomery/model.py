"""The trained model: a transformer that adds prediction, probability and rawPrediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml.wrapper import JavaModel

from bloomery import jvm
from bloomery.errors import translated
from bloomery.network import Network
from bloomery.params import PredictionParams
from bloomery.persistence import Readable, Writable
from bloomery.safetensors import tensors_of
from bloomery.summary import TrainingSummary

if TYPE_CHECKING:
    import numpy
    from pyspark.sql import DataFrame
    from typing_extensions import Self


class NeuralNetClassificationModel(JavaModel, PredictionParams, Writable, Readable["NeuralNetClassificationModel"]):
    """What `NeuralNetClassifier.fit` returns and `NeuralNetClassificationModel.load` reads."""

    @classmethod
    def of(cls, network: Network, weights: bytes) -> Self:
        """A model of given weights, as safetensors, that was trained elsewhere; its history is empty."""
        with translated():
            return cls(jvm.java_class(f"io.bloomery.{cls.__name__}").of(network.to_json(), weights))

    @property
    def network(self) -> Network:
        """The network that was trained."""
        return Network.from_json(self._call_java("network").toJson())

    @property
    def numClasses(self) -> int:
        """How many classes the network tells apart."""
        return int(self._call_java("numClasses"))

    @property
    def numParameters(self) -> int:
        """How many numbers training adjusted."""
        return int(self._call_java("numParameters"))

    @property
    def summary(self) -> TrainingSummary:
        """How the training went; it is saved with the model."""
        summary = self._call_java("summary")
        return TrainingSummary(summary.toJson(), summary.trace())

    def weights(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """The weights by name, such as `conv2d/kernel`, laid out as Keras has them."""
        assert self._java_obj is not None
        return tensors_of(self._java_obj.weights())  # _call_java would take bytes for a pickle

    def exportOnnx(self, path: str) -> None:
        """Writes network and weights as one ONNX file, to any path that Hadoop knows; a file there is replaced.

        It takes what the column holds and gives what the network says, so that onnxruntime needs nothing else.
        """
        assert self._java_obj is not None
        with translated():
            self._java_obj.exportOnnx(path)

    def setFeaturesCol(self, value: str) -> Self:
        """The column of the network's input."""
        return self._set(featuresCol=value)

    def setFeaturesCols(self, value: list[str | dict[str, Any]] | list[str]) -> Self:
        """Several columns that make up the input, instead: names, or dicts with column and options."""
        return self._set(featuresCols=value)

    def setNulls(self, value: str) -> Self:
        """What a null among the features is: error, zero or mean."""
        return self._set(nulls=value)

    def setNans(self, value: str) -> Self:
        """What NaN or an infinity among the features is: error or pass."""
        return self._set(nans=value)

    def setPredictionCol(self, value: str) -> Self:
        """The column that is added for the most probable class."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """The column that is added for the classes' probabilities."""
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Self:
        """The column that is added for the network's output before softmax."""
        return self._set(rawPredictionCol=value)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        with translated():
            return super()._transform(dataset)
