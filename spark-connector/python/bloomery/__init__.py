"""Neural networks trained inside Spark executors, as pyspark.ml estimators.

>>> spark = bloomery.configure(SparkSession.builder.master("local[2]")).getOrCreate()
>>> model = bloomery.NeuralNetClassifier(network=network, epochs=2, numWorkers=2).fit(df)
"""

import sys

from bloomery import layers, losses, metrics, optimizers, regularizers, schedules, zoo
from bloomery.classifier import NeuralNetClassifier
from bloomery.errors import BloomeryError, Cancelled, InternalError, PeerLost, ResourceError, UserError
from bloomery.estimator import NeuralNetEstimator
from bloomery.keras_models import KerasNetwork, from_keras
from bloomery.model import NeuralNetClassificationModel, NeuralNetModel, NeuralNetRegressionModel
from bloomery.network import Model, Network, Sequential
from bloomery.regressor import NeuralNetRegressor
from bloomery.session import configure, jar, spark_session_builder
from bloomery.summary import TrainingSummary

__version__ = "0.1.0"

__all__ = [
    "BloomeryError",
    "Cancelled",
    "InternalError",
    "KerasNetwork",
    "Model",
    "Network",
    "NeuralNetClassificationModel",
    "NeuralNetClassifier",
    "NeuralNetEstimator",
    "NeuralNetModel",
    "NeuralNetRegressionModel",
    "NeuralNetRegressor",
    "PeerLost",
    "ResourceError",
    "Sequential",
    "TrainingSummary",
    "UserError",
    "configure",
    "from_keras",
    "jar",
    "layers",
    "losses",
    "metrics",
    "optimizers",
    "regularizers",
    "schedules",
    "spark_session_builder",
    "zoo",
]

# pyspark.ml finds the Python class of a Java stage, in a Pipeline for example, by importing the Java class's name.
sys.modules["io.bloomery"] = sys.modules[__name__]
