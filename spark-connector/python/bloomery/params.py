"""The params of the estimator and its model, under the names and with the documentation of the JVM's."""

from __future__ import annotations

import json
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasValidationIndicatorCol,
    HasWeightCol,
)

from bloomery.checkpoint_params import CheckpointParams
from bloomery.losses import Loss
from bloomery.metrics import Metric
from bloomery.names import camel_case
from bloomery.network import Network
from bloomery.optimizers import Optimizer, optimizer_dict
from bloomery.progress_params import ProgressParams


def network_json(value: Any) -> str:
    """A network as the param holds it: its JSON."""
    return value.to_json() if isinstance(value, Network) else TypeConverters.toString(value)


def optimizer_text(value: Any) -> str:
    """A name, or an optimizer or a dict such as {"kind": "adam", "learning_rate": 0.01} as JSON."""
    if isinstance(value, Optimizer):
        return json.dumps(value.to_dict())
    if isinstance(value, dict):
        return json.dumps(optimizer_dict(value))
    return TypeConverters.toString(value)


def loss_text(value: Any) -> str:
    """A name, or a loss or a dict such as {"kind": "huber", "delta": 2.0} as JSON."""
    return _options_text(value, Loss)


def metric_texts(value: Any) -> list[str]:
    """Each a name, or a metric or a dict as JSON."""
    return TypeConverters.toListString([_options_text(each, Metric) for each in TypeConverters.toList(value)])


def class_weights_text(value: Any) -> str:
    """A dict of class index and weight as JSON."""
    if isinstance(value, dict):
        return json.dumps({str(index): float(weight) for index, weight in value.items()})
    return TypeConverters.toString(value)


def column_texts(value: Any) -> list[str]:
    """Each a name, or a dict such as {"column": "carrier", "hash_buckets": 100} as JSON."""
    return TypeConverters.toListString([_options_text(each) for each in TypeConverters.toList(value)])


def _options_text(value: Any, kind: type[Loss | Metric] | None = None) -> str:
    if kind is not None and isinstance(value, kind):
        return json.dumps(value.to_dict())
    if isinstance(value, dict):
        return json.dumps({camel_case(key): option for key, option in value.items()})
    return TypeConverters.toString(value)


class PredictionParams(HasFeaturesCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol):
    """Which columns a model reads and adds."""

    _owner = Params._dummy()

    featuresCols: Param[list[str]] = Param(
        _owner,
        "featuresCols",
        "several columns that make up the input, in this order, instead of featuresCol: names, or JSON such as "
        '{"column": "carrier", "vocabulary": ["AA", "DL"]}',
        column_texts,
    )
    nulls: Param[str] = Param(
        _owner, "nulls", "what a null among the features is: error, zero or mean", TypeConverters.toString
    )
    nans: Param[str] = Param(
        _owner, "nans", "what NaN or an infinity among the features is: error or pass", TypeConverters.toString
    )

    def getFeaturesCols(self) -> list[str]:
        """The columns that make up the input, each a name or JSON."""
        return self.getOrDefault(self.featuresCols)

    def getNulls(self) -> str:
        """What a null among the features is."""
        return self.getOrDefault(self.nulls)

    def getNans(self) -> str:
        """What NaN or an infinity among the features is."""
        return self.getOrDefault(self.nans)


class NeuralNetParams(
    PredictionParams, HasLabelCol, HasWeightCol, HasValidationIndicatorCol, CheckpointParams, ProgressParams
):
    """The params of training. One that is not set and has no default here has the engine's default."""

    _owner = Params._dummy()

    network: Param[str] = Param(
        _owner, "network", "the network, as JSON or made by io.bloomery.network.Sequential or Model", network_json
    )
    labelVocabulary: Param[list[str]] = Param(
        _owner,
        "labelVocabulary",
        "the words of the label column that are the classes, in the order of their indices",
        TypeConverters.toListString,
    )
    validationFraction: Param[float] = Param(
        _owner,
        "validationFraction",
        "the share of the rows that are not trained on but evaluated after each epoch",
        TypeConverters.toFloat,
    )
    optimizer: Param[str] = Param(
        _owner,
        "optimizer",
        'sgd, adam, adamw, adadelta, adagrad, rmsprop or lamb, or JSON such as {"kind": "adam", "beta1": 0.9}',
        optimizer_text,
    )
    learningRate: Param[float] = Param(
        _owner, "learningRate", "the optimizer's learning rate, never scaled by itself", TypeConverters.toFloat
    )
    momentum: Param[float] = Param(_owner, "momentum", "the momentum of sgd", TypeConverters.toFloat)
    clipNorm: Param[float] = Param(
        _owner, "clipNorm", "the norm of all gradients together that is not exceeded", TypeConverters.toFloat
    )
    clipValue: Param[float] = Param(
        _owner, "clipValue", "the size of each gradient that is not exceeded", TypeConverters.toFloat
    )
    emaMomentum: Param[float] = Param(
        _owner,
        "emaMomentum",
        "how much a running average of the weights keeps in each step; it is evaluated and returned",
        TypeConverters.toFloat,
    )
    backwardPassesPerStep: Param[int] = Param(
        _owner,
        "backwardPassesPerStep",
        "batches per worker whose gradients are added up for one step",
        TypeConverters.toInt,
    )
    gradientCompression: Param[str] = Param(
        _owner,
        "gradientCompression",
        "how gradients travel between workers: none (32 bits), fp16 or bf16 (16 bits)",
        TypeConverters.toString,
    )
    localSteps: Param[int] = Param(
        _owner,
        "localSteps",
        "steps that each worker trains on its own before the workers average their parameters; 1 adds up gradients",
        TypeConverters.toInt,
    )
    loss: Param[str] = Param(
        _owner,
        "loss",
        'a name such as categorical_crossentropy or mse, or JSON such as {"kind": "huber", "delta": 1.0}',
        loss_text,
    )
    metrics: Param[list[str]] = Param(
        _owner, "metrics", "what to report beside the loss: names such as accuracy, or JSON", metric_texts
    )
    classWeights: Param[str] = Param(
        _owner,
        "classWeights",
        'what rows of a class weigh, as JSON such as {"0": 1.0, "3": 2.5}; others weigh 1',
        class_weights_text,
    )
    batchSize: Param[int] = Param(
        _owner, "batchSize", "rows per step and worker; set this or globalBatchSize", TypeConverters.toInt
    )
    globalBatchSize: Param[int] = Param(
        _owner, "globalBatchSize", "rows per step over all workers; set this or batchSize", TypeConverters.toInt
    )
    epochs: Param[int] = Param(_owner, "epochs", "how often every row is seen", TypeConverters.toInt)
    stepsPerEpoch: Param[int] = Param(
        _owner,
        "stepsPerEpoch",
        "steps of an epoch, so that a schedule that counts epochs does not wait for all rows",
        TypeConverters.toInt,
    )
    seed: Param[int] = Param(
        _owner, "seed", "of initial weights, order of rows and dropout: same seed, same bits", TypeConverters.toInt
    )
    shuffle: Param[bool] = Param(
        _owner, "shuffle", "whether each epoch sees the rows in a new order", TypeConverters.toBoolean
    )
    shuffleBuffer: Param[int] = Param(
        _owner,
        "shuffleBuffer",
        "rows per worker that the first epoch draws from while the others still come",
        TypeConverters.toInt,
    )
    dataMemory: Param[int] = Param(
        _owner,
        "dataMemory",
        "bytes of rows that a worker keeps in memory; the others go to Spark's local directories",
        TypeConverters.toInt,
    )
    numWorkers: Param[int] = Param(
        _owner, "numWorkers", "tasks that train together, each on its share of the partitions", TypeConverters.toInt
    )
    forceRepartition: Param[bool] = Param(
        _owner,
        "forceRepartition",
        "whether to shuffle the rows into numWorkers equal partitions first",
        TypeConverters.toBoolean,
    )
    connectTimeout: Param[float] = Param(
        _owner, "connectTimeout", "seconds that workers wait for each other to start", TypeConverters.toFloat
    )
    stepTimeout: Param[float] = Param(
        _owner, "stepTimeout", "seconds after which a silent worker counts as lost", TypeConverters.toFloat
    )
    slotTimeout: Param[float] = Param(
        _owner, "slotTimeout", "seconds to wait until numWorkers task slots are there", TypeConverters.toFloat
    )

    def getNetwork(self) -> Network:
        """The network to train."""
        return Network.from_json(self.getOrDefault(self.network))

    def getLabelVocabulary(self) -> list[str]:
        """The words of the label column that are the classes."""
        return self.getOrDefault(self.labelVocabulary)

    def getValidationFraction(self) -> float:
        """The share of the rows that are evaluated after each epoch."""
        return self.getOrDefault(self.validationFraction)

    def getOptimizer(self) -> str:
        """The optimizer's name, or its JSON."""
        return self.getOrDefault(self.optimizer)

    def getLearningRate(self) -> float:
        """The learning rate."""
        return self.getOrDefault(self.learningRate)

    def getMomentum(self) -> float:
        """The momentum of sgd."""
        return self.getOrDefault(self.momentum)

    def getClipNorm(self) -> float:
        """The norm of all gradients together that is not exceeded."""
        return self.getOrDefault(self.clipNorm)

    def getClipValue(self) -> float:
        """The size of each gradient that is not exceeded."""
        return self.getOrDefault(self.clipValue)

    def getEmaMomentum(self) -> float:
        """How much a running average of the weights keeps in each step."""
        return self.getOrDefault(self.emaMomentum)

    def getBackwardPassesPerStep(self) -> int:
        """Batches per worker whose gradients are added up for one step."""
        return self.getOrDefault(self.backwardPassesPerStep)

    def getGradientCompression(self) -> str:
        """How gradients travel between workers."""
        return self.getOrDefault(self.gradientCompression)

    def getLocalSteps(self) -> int:
        """Steps that each worker trains on its own before the workers average their parameters."""
        return self.getOrDefault(self.localSteps)

    def getLoss(self) -> str:
        """The loss."""
        return self.getOrDefault(self.loss)

    def getMetrics(self) -> list[str]:
        """The metrics that are reported beside the loss."""
        return self.getOrDefault(self.metrics)

    def getClassWeights(self) -> str:
        """What rows of a class weigh, as JSON."""
        return self.getOrDefault(self.classWeights)

    def getBatchSize(self) -> int:
        """Rows per step and worker."""
        return self.getOrDefault(self.batchSize)

    def getGlobalBatchSize(self) -> int:
        """Rows per step over all workers."""
        return self.getOrDefault(self.globalBatchSize)

    def getEpochs(self) -> int:
        """How often every row is seen."""
        return self.getOrDefault(self.epochs)

    def getStepsPerEpoch(self) -> int:
        """Steps of an epoch, as a schedule that counts epochs takes them."""
        return self.getOrDefault(self.stepsPerEpoch)

    def getSeed(self) -> int:
        """The seed of everything random."""
        return self.getOrDefault(self.seed)

    def getShuffle(self) -> bool:
        """Whether each epoch sees the rows in a new order."""
        return self.getOrDefault(self.shuffle)

    def getShuffleBuffer(self) -> int:
        """Rows per worker that the first epoch draws from while the others still come."""
        return self.getOrDefault(self.shuffleBuffer)

    def getDataMemory(self) -> int:
        """Bytes of rows that a worker keeps in memory."""
        return self.getOrDefault(self.dataMemory)

    def getNumWorkers(self) -> int:
        """How many tasks train together."""
        return self.getOrDefault(self.numWorkers)

    def getForceRepartition(self) -> bool:
        """Whether the rows are shuffled into numWorkers equal partitions first."""
        return self.getOrDefault(self.forceRepartition)

    def getConnectTimeout(self) -> float:
        """Seconds that workers wait for each other to start."""
        return self.getOrDefault(self.connectTimeout)

    def getStepTimeout(self) -> float:
        """Seconds after which a silent worker counts as lost."""
        return self.getOrDefault(self.stepTimeout)

    def getSlotTimeout(self) -> float:
        """Seconds to wait until numWorkers task slots are there."""
        return self.getOrDefault(self.slotTimeout)
