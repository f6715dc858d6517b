"""The trained models: transformers that add what the network predicts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.wrapper import JavaModel

from bloomery import jvm
from bloomery.errors import translated
from bloomery.network import Network
from bloomery.output_params import ClassificationParams, NamedOutputParams, RegressionParams
from bloomery.params import InputParams, clear
from bloomery.persistence import Readable, Writable
from bloomery.safetensors import tensors_of
from bloomery.summary import TrainingSummary

if TYPE_CHECKING:
    import numpy
    from pyspark.sql import DataFrame
    from typing_extensions import Self


_CLASSIC = "a session of bloomery.spark_session_builder().master(...)"


class NetworkModel(JavaModel, InputParams, Writable):
    """What the models share."""

    _fitted_network: Network | None = None  # where a server has the model

    @classmethod
    def of(cls, network: Network, weights: bytes) -> Self:
        """A model of given weights, as safetensors, that was trained elsewhere; its history is empty."""
        if jvm.is_remote():
            raise jvm.out_of_reach("weights", f"make the model in {_CLASSIC}, save it, and load it here")
        with translated():
            return cls(jvm.java_class(f"io.bloomery.{cls.__name__}").of(network.to_json(), weights))

    @property
    def network(self) -> Network:
        """The network that was trained."""
        if jvm.is_remote():
            if self._fitted_network is None:
                raise jvm.out_of_reach("the network of a loaded model", "it is network.json of the model's folder")
            return self._fitted_network
        return Network.from_json(self._call_java("network").toJson())

    @property
    def numParameters(self) -> int:
        """How many numbers training adjusted."""
        return self._count("numParameters")

    @property
    def summary(self) -> TrainingSummary:
        """How the training went; it is saved with the model."""
        if jvm.is_remote():
            from bloomery.connect import summary_of

            return TrainingSummary(summary_of(self), None)
        summary = self._call_java("summary")
        return TrainingSummary(summary.toJson(), summary.trace())

    def weights(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """The weights by name, such as `conv2d/kernel`, laid out as Keras has them."""
        self._needs_jvm("weights()", "save the model, whose folder has them as weights.safetensors")
        assert self._java_obj is not None
        return tensors_of(self._java_obj.weights())  # _call_java would take bytes for a pickle

    def clear(self, param: Param[Any]) -> None:
        """Takes back what a param was set to."""
        clear(self, param)

    def exportOnnx(self, path: str) -> None:
        """Writes network and weights as one ONNX file, to any path that Hadoop knows; a file there is replaced.

        It takes what the column holds and gives what the network says, so that onnxruntime needs nothing else.
        """
        if jvm.is_remote():
            self.write().option("format", "onnx").save(path)
            return
        assert self._java_obj is not None
        with translated():
            self._java_obj.exportOnnx(path)

    def evaluate(self, dataset: DataFrame) -> dict[str, float]:
        """Loss and metrics of these rows, which have labels, by the names that the history has.

        Executors measure their own rows, and only sums come to the driver.
        """
        self._needs_jvm(
            "evaluate", f"give transform's result to pyspark.ml.evaluation, or save the model for {_CLASSIC}"
        )
        jvm.needs_frame(dataset)
        assert self._java_obj is not None
        self._transfer_params_to_java()
        with translated():
            return dict(self._java_obj.evaluation(dataset._jdf))

    def __del__(self, _ending: Callable[[], bool] = sys.is_finalizing) -> None:
        """Lets a server forget the model, but not while Python ends: pyspark's call to it would wait forever then."""
        if not _ending():
            super().__del__()

    def _needs_jvm(self, what: str, instead: str) -> None:
        if jvm.is_remote():
            raise jvm.out_of_reach(what, instead)

    def _count(self, name: str) -> int:
        """A number that the model's text has, too, which is all that a server tells."""
        if not jvm.is_remote():
            return int(self._call_java(name))
        with translated():
            found = re.search(rf"\b{name}=(\d+)", repr(self))
        assert found is not None, f"{name} is not in {self!r}"
        return int(found[1])

    def _transform(self, dataset: DataFrame) -> DataFrame:
        jvm.needs_frame(dataset)
        with translated():
            return super()._transform(dataset)


class NeuralNetClassificationModel(NetworkModel, ClassificationParams, Readable["NeuralNetClassificationModel"]):
    """What `NeuralNetClassifier.fit` returns and `NeuralNetClassificationModel.load` reads."""

    labels: Param[list[str]] = Param(
        Params._dummy(),
        "labels",
        "what the classes stand for, in the order of their indices; it goes with the prediction as metadata",
        TypeConverters.toListString,
    )

    @property
    def numClasses(self) -> int:
        """How many classes the network tells apart."""
        return self._count("numClasses")

    def getLabels(self) -> list[str]:
        """What the classes stand for."""
        return self.getOrDefault(self.labels)

    def setLabels(self, value: list[str]) -> Self:
        """What the classes stand for, in the order of their indices."""
        return self.setParams(labels=value)


class NeuralNetRegressionModel(NetworkModel, RegressionParams, Readable["NeuralNetRegressionModel"]):
    """What `NeuralNetRegressor.fit` returns and `NeuralNetRegressionModel.load` reads."""

    @property
    def numTargets(self) -> int:
        """How many values the network tells of a row."""
        return self._count("numTargets")


class NeuralNetModel(NetworkModel, NamedOutputParams, Readable["NeuralNetModel"]):
    """What `NeuralNetEstimator.fit` returns and `NeuralNetModel.load` reads."""
