"""The estimator for values: `model = NeuralNetRegressor(network=..., labelCol="price").fit(df)`."""

from __future__ import annotations

from bloomery.model import NeuralNetRegressionModel
from bloomery.network_estimator import NetworkEstimator
from bloomery.output_params import RegressionParams
from bloomery.persistence import Readable


class NeuralNetRegressor(NetworkEstimator[NeuralNetRegressionModel], RegressionParams, Readable["NeuralNetRegressor"]):
    """Trains a neural network that tells values, one or several of a row, inside Spark's executors.

    Every param is a keyword, in camelCase or snake_case; `explainParams()` tells what each does.
    """

    _model_class = NeuralNetRegressionModel
