"""The estimator for classes: `model = NeuralNetClassifier(network=..., epochs=2).fit(df)`."""

from __future__ import annotations

from bloomery.model import NeuralNetClassificationModel
from bloomery.network_estimator import NetworkEstimator
from bloomery.output_params import ClassificationParams, ClassWeightParams
from bloomery.persistence import Readable


class NeuralNetClassifier(
    NetworkEstimator[NeuralNetClassificationModel],
    ClassificationParams,
    ClassWeightParams,
    Readable["NeuralNetClassifier"],
):
    """Trains a neural network that classifies, inside Spark's executors.

    Every param is a keyword, in camelCase or snake_case; `explainParams()` tells what each does.
    """

    _model_class = NeuralNetClassificationModel
