"""The params of training, under the names and with the documentation of the JVM's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasValidationIndicatorCol

from bloomery.checkpoint_params import CheckpointParams
from bloomery.network import Network
from bloomery.optimizers import Optimizer
from bloomery.params import large_whole_number, network_json, number, optimizer_text, whole_number
from bloomery.progress_params import ProgressParams
from bloomery.stopping_params import StoppingParams

if TYPE_CHECKING:
    from typing_extensions import Self


class TrainingParams(HasValidationIndicatorCol, CheckpointParams, StoppingParams, ProgressParams):
    """The params of training. One that is not set and has no default here has the engine's default."""

    _owner = Params._dummy()

    network: Param[str] = Param(
        _owner, "network", "the network, as JSON or made by io.bloomery.network.Sequential or Model", network_json
    )
    validationFraction: Param[float] = Param(
        _owner,
        "validationFraction",
        "the share of the rows that are not trained on but evaluated after each epoch",
        number,
    )
    optimizer: Param[str] = Param(
        _owner,
        "optimizer",
        'sgd, adam, adamw, adadelta, adagrad, rmsprop or lamb, or JSON such as {"kind": "adam", "beta1": 0.9}',
        optimizer_text,
    )
    learningRate: Param[float] = Param(
        _owner, "learningRate", "the optimizer's learning rate, never scaled by itself", number
    )
    momentum: Param[float] = Param(_owner, "momentum", "the momentum of sgd", number)
    clipNorm: Param[float] = Param(
        _owner, "clipNorm", "the norm of all gradients together that is not exceeded", number
    )
    clipValue: Param[float] = Param(_owner, "clipValue", "the size of each gradient that is not exceeded", number)
    emaMomentum: Param[float] = Param(
        _owner,
        "emaMomentum",
        "how much a running average of the weights keeps in each step; it is evaluated and returned",
        number,
    )
    backwardPassesPerStep: Param[int] = Param(
        _owner,
        "backwardPassesPerStep",
        "batches per worker whose gradients are added up for one step",
        whole_number,
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
        whole_number,
    )
    batchSize: Param[int] = Param(
        _owner, "batchSize", "rows per step and worker; set this or globalBatchSize", whole_number
    )
    globalBatchSize: Param[int] = Param(
        _owner, "globalBatchSize", "rows per step over all workers; set this or batchSize", whole_number
    )
    epochs: Param[int] = Param(_owner, "epochs", "how often every row is seen", whole_number)
    stepsPerEpoch: Param[int] = Param(
        _owner,
        "stepsPerEpoch",
        "steps of an epoch, so that a schedule that counts epochs does not wait for all rows",
        whole_number,
    )
    seed: Param[int] = Param(
        _owner, "seed", "of initial weights, order of rows and dropout: same seed, same bits", large_whole_number
    )
    shuffle: Param[bool] = Param(
        _owner, "shuffle", "whether each epoch sees the rows in a new order", TypeConverters.toBoolean
    )
    shuffleBuffer: Param[int] = Param(
        _owner,
        "shuffleBuffer",
        "rows per worker that the first epoch draws from while the others still come",
        whole_number,
    )
    dataMemory: Param[int] = Param(
        _owner,
        "dataMemory",
        "bytes of rows that a worker keeps in memory; the others go to Spark's local directories",
        large_whole_number,
    )
    numWorkers: Param[int] = Param(
        _owner, "numWorkers", "tasks that train together, each on its share of the partitions", whole_number
    )
    workerCpus: Param[int] = Param(
        _owner,
        "workerCpus",
        "cores, and so threads, of each worker while it trains; without it spark.task.cpus",
        whole_number,
    )
    forceRepartition: Param[bool] = Param(
        _owner,
        "forceRepartition",
        "whether to shuffle the rows into numWorkers equal partitions first",
        TypeConverters.toBoolean,
    )
    connectTimeout: Param[float] = Param(
        _owner, "connectTimeout", "seconds that workers wait for each other to start", number
    )
    stepTimeout: Param[float] = Param(
        _owner, "stepTimeout", "seconds after which a silent worker counts as lost", number
    )
    slotTimeout: Param[float] = Param(
        _owner, "slotTimeout", "seconds to wait until numWorkers task slots are there", number
    )
    initialModel: Param[str] = Param(
        _owner,
        "initialModel",
        "the folder of a saved model whose weights training begins with; layers of other names begin anew",
        TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(numWorkers=1, forceRepartition=False, connectTimeout=60.0, stepTimeout=60.0, slotTimeout=120.0)
        self._setDefault(validationFraction=0.0, optimizer="adam", batchSize=32, epochs=1, seed=0, localSteps=1)
        self._setDefault(backwardPassesPerStep=1, gradientCompression="none", shuffle=True, shuffleBuffer=2048)

    def getNetwork(self) -> Network:
        """The network to train."""
        return Network.from_json(self.getOrDefault(self.network))

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

    def getWorkerCpus(self) -> int:
        """Cores, and so threads, of each worker while it trains."""
        return self.getOrDefault(self.workerCpus)

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

    def getInitialModel(self) -> str:
        """The folder of the model whose weights training begins with."""
        return self.getOrDefault(self.initialModel)

    def setInitialModel(self, value: Any) -> Self:
        """A model, or the folder of a saved one, whose weights training begins with."""
        return self.setParams(initialModel=value)

    def setNetwork(self, value: Network | str) -> Self:
        """The network to train, or its JSON."""
        return self.setParams(network=value)

    def setValidationFraction(self, value: float) -> Self:
        """The share of the rows that are not trained on but evaluated after each epoch."""
        return self.setParams(validationFraction=value)

    def setOptimizer(self, value: Optimizer | str | dict[str, Any]) -> Self:
        """One of bloomery.optimizers, its name, or a dict such as {"kind": "adam", "beta1": 0.9}."""
        return self.setParams(optimizer=value)

    def setLearningRate(self, value: float) -> Self:
        """The optimizer's learning rate."""
        return self.setParams(learningRate=value)

    def setMomentum(self, value: float) -> Self:
        """The momentum of sgd."""
        return self.setParams(momentum=value)

    def setClipNorm(self, value: float) -> Self:
        """The norm of all gradients together that is not exceeded."""
        return self.setParams(clipNorm=value)

    def setClipValue(self, value: float) -> Self:
        """The size of each gradient that is not exceeded."""
        return self.setParams(clipValue=value)

    def setEmaMomentum(self, value: float) -> Self:
        """How much a running average of the weights keeps in each step; it is evaluated and returned."""
        return self.setParams(emaMomentum=value)

    def setBackwardPassesPerStep(self, value: int) -> Self:
        """Batches per worker whose gradients are added up for one step."""
        return self.setParams(backwardPassesPerStep=value)

    def setGradientCompression(self, value: str) -> Self:
        """How gradients travel between workers: none (32 bits), fp16 or bf16 (16 bits)."""
        return self.setParams(gradientCompression=value)

    def setLocalSteps(self, value: int) -> Self:
        """Steps that each worker trains on its own before the workers average their parameters; 1 adds up gradients."""
        return self.setParams(localSteps=value)

    def setBatchSize(self, value: int) -> Self:
        """Rows per step and worker."""
        return self.setParams(batchSize=value)

    def setGlobalBatchSize(self, value: int) -> Self:
        """Rows per step over all workers."""
        return self.setParams(globalBatchSize=value)

    def setEpochs(self, value: int) -> Self:
        """How often every row is seen."""
        return self.setParams(epochs=value)

    def setStepsPerEpoch(self, value: int) -> Self:
        """Steps of an epoch, so that a schedule that counts epochs does not wait for all rows."""
        return self.setParams(stepsPerEpoch=value)

    def setSeed(self, value: int) -> Self:
        """The seed of everything random."""
        return self.setParams(seed=value)

    def setShuffle(self, value: bool) -> Self:
        """Whether each epoch sees the rows in a new order."""
        return self.setParams(shuffle=value)

    def setShuffleBuffer(self, value: int) -> Self:
        """Rows per worker that the first epoch draws from while the others still come."""
        return self.setParams(shuffleBuffer=value)

    def setDataMemory(self, value: int) -> Self:
        """Bytes of rows that a worker keeps in memory; the others go to Spark's local directories."""
        return self.setParams(dataMemory=value)

    def setNumWorkers(self, value: int) -> Self:
        """How many tasks train together."""
        return self.setParams(numWorkers=value)

    def setWorkerCpus(self, value: int) -> Self:
        """Cores, and so threads, of each worker while it trains, instead of spark.task.cpus."""
        return self.setParams(workerCpus=value)

    def setForceRepartition(self, value: bool) -> Self:
        """Whether the rows are shuffled into numWorkers equal partitions first."""
        return self.setParams(forceRepartition=value)

    def setConnectTimeout(self, value: float) -> Self:
        """Seconds that workers wait for each other to start."""
        return self.setParams(connectTimeout=value)

    def setStepTimeout(self, value: float) -> Self:
        """Seconds after which a silent worker counts as lost."""
        return self.setParams(stepTimeout=value)

    def setSlotTimeout(self, value: float) -> Self:
        """Seconds to wait until numWorkers task slots are there."""
        return self.setParams(slotTimeout=value)

    def setValidationIndicatorCol(self, value: str) -> Self:
        """The boolean column that marks rows as validation: evaluated after each epoch, never trained on."""
        return self.setParams(validationIndicatorCol=value)
