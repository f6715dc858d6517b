"""The estimator for any network: several inputs and outputs, known by their names."""

from __future__ import annotations

from bloomery.model import NeuralNetModel
from bloomery.network_estimator import NetworkEstimator
from bloomery.output_params import NamedOutputParams
from bloomery.persistence import Readable


class NeuralNetEstimator(NetworkEstimator[NeuralNetModel], NamedOutputParams, Readable["NeuralNetEstimator"]):
    """Trains a network of any number of inputs and outputs, inside Spark's executors.

    Every param is a keyword, in camelCase or snake_case; `explainParams()` tells what each does.
    """

    _model_class = NeuralNetModel
