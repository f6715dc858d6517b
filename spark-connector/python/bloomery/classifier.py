"""The estimator: `model = NeuralNetClassifier(network=..., epochs=2).fit(df)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import keyword_only
from pyspark.ml.wrapper import JavaEstimator

from bloomery import jvm
from bloomery.errors import translated
from bloomery.losses import Loss
from bloomery.metrics import Metric
from bloomery.model import NeuralNetClassificationModel
from bloomery.names import camel_case, unknown_keyword
from bloomery.network import Network
from bloomery.notebook import progress_bar
from bloomery.optimizers import Optimizer
from bloomery.params import NeuralNetParams
from bloomery.persistence import Readable, Writable

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame
    from typing_extensions import Self


class NeuralNetClassifier(
    JavaEstimator[NeuralNetClassificationModel], NeuralNetParams, Writable, Readable["NeuralNetClassifier"]
):
    """Trains a neural network that classifies, inside Spark's executors.

    Every param is a keyword, in camelCase or snake_case; `explainParams()` tells what each does.
    """

    _input_kwargs: dict[str, Any]  # what was given to the constructor, as pyspark's decorator leaves it

    @keyword_only
    def __init__(
        self,
        *,
        network: Network | str | None = None,
        gradientCompression: str | None = None,
        localSteps: int | None = None,
        featuresCol: str | None = None,
        featuresCols: list[str | dict[str, Any]] | list[str] | None = None,
        nulls: str | None = None,
        nans: str | None = None,
        labelCol: str | None = None,
        labelVocabulary: list[str] | None = None,
        predictionCol: str | None = None,
        probabilityCol: str | None = None,
        rawPredictionCol: str | None = None,
        weightCol: str | None = None,
        validationIndicatorCol: str | None = None,
        validationFraction: float | None = None,
        optimizer: Optimizer | str | dict[str, Any] | None = None,
        learningRate: float | None = None,
        momentum: float | None = None,
        clipNorm: float | None = None,
        clipValue: float | None = None,
        emaMomentum: float | None = None,
        backwardPassesPerStep: int | None = None,
        loss: Loss | str | dict[str, Any] | None = None,
        metrics: list[Metric | str | dict[str, Any]] | list[str] | None = None,
        classWeights: dict[int, float] | str | None = None,
        batchSize: int | None = None,
        globalBatchSize: int | None = None,
        epochs: int | None = None,
        stepsPerEpoch: int | None = None,
        seed: int | None = None,
        shuffle: bool | None = None,
        shuffleBuffer: int | None = None,
        dataMemory: int | None = None,
        numWorkers: int | None = None,
        forceRepartition: bool | None = None,
        connectTimeout: float | None = None,
        stepTimeout: float | None = None,
        slotTimeout: float | None = None,
        verbose: int | None = None,
        tensorboardDir: str | None = None,
        checkpointPath: str | None = None,
        checkpointInterval: int | None = None,
        checkpointSteps: int | None = None,
        checkpointMinutes: float | None = None,
        keepCheckpoints: int | None = None,
        resume: str | None = None,
        maxRestarts: int | None = None,
        **aliases: Any,
    ) -> None:
        given = self._input_kwargs
        super().__init__()
        self._java_obj = jvm.java_class("io.bloomery.NeuralNetClassifier")(self.uid)
        self._transfer_params_from_java()
        self.setParams(**given)

    def setParams(self, **params: Any) -> Self:
        """Sets any params, by the names that the constructor takes."""
        named: dict[str, Any] = {}
        for name, value in params.items():
            param = camel_case(name)
            if not self.hasParam(param):
                raise unknown_keyword(type(self).__name__, name, [each.name for each in self.params])
            if param in named:
                raise TypeError(f"{type(self).__name__} has a param twice: {param}")
            named[param] = value
        self._set(**named)
        return self

    def setNetwork(self, value: Network | str) -> Self:
        """The network to train, or its JSON."""
        return self.setParams(network=value)

    def setFeaturesCol(self, value: str) -> Self:
        """The column of the network's input."""
        return self.setParams(featuresCol=value)

    def setFeaturesCols(self, value: list[str | dict[str, Any]] | list[str]) -> Self:
        """Several columns that make up the input, instead: names, or dicts with column and options."""
        return self.setParams(featuresCols=value)

    def setNulls(self, value: str) -> Self:
        """What a null among the features is: error, zero or mean."""
        return self.setParams(nulls=value)

    def setNans(self, value: str) -> Self:
        """What NaN or an infinity among the features is: error or pass."""
        return self.setParams(nans=value)

    def setLabelCol(self, value: str) -> Self:
        """The column of class indices."""
        return self.setParams(labelCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """The column that the model adds for the most probable class."""
        return self.setParams(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """The column that the model adds for the classes' probabilities."""
        return self.setParams(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Self:
        """The column that the model adds for the network's output before softmax."""
        return self.setParams(rawPredictionCol=value)

    def setWeightCol(self, value: str) -> Self:
        """The column of row weights."""
        return self.setParams(weightCol=value)

    def setValidationIndicatorCol(self, value: str) -> Self:
        """The boolean column that marks rows as validation: evaluated after each epoch, never trained on."""
        return self.setParams(validationIndicatorCol=value)

    def setValidationFraction(self, value: float) -> Self:
        """The share of the rows that are not trained on but evaluated after each epoch."""
        return self.setParams(validationFraction=value)

    def setLabelVocabulary(self, value: list[str]) -> Self:
        """The words of the label column that are the classes, in the order of their indices."""
        return self.setParams(labelVocabulary=value)

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

    def setLoss(self, value: Loss | str | dict[str, Any]) -> Self:
        """One of bloomery.losses, its name, or a dict such as {"kind": "huber", "delta": 2.0}."""
        return self.setParams(loss=value)

    def setMetrics(self, value: list[Metric | str | dict[str, Any]] | list[str]) -> Self:
        """What to report beside the loss: of bloomery.metrics, or names such as accuracy."""
        return self.setParams(metrics=value)

    def setClassWeights(self, value: dict[int, float] | str) -> Self:
        """What rows of a class weigh, by class index; others weigh 1."""
        return self.setParams(classWeights=value)

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

    def describe(self, dataset: DataFrame) -> str:
        """What `fit` would do with this data, as text, without running a job: print it.

        Which way the rows come and to which worker, what becomes of each column, when the first step is, memory,
        threads, and whether a repeated fit gives the same bits.
        """
        assert self._java_obj is not None
        self._transfer_params_to_java()
        with translated():
            return str(self._java_obj.describe(dataset._jdf))

    def fitOnParquet(self, path: str) -> NeuralNetClassificationModel:
        """Fits on all rows of a Parquet file or folder, of any file system that Spark knows."""
        assert self._java_obj is not None
        self._transfer_params_to_java()
        with progress_bar(self.uid, self.getVerbose()), translated():
            model = self._create_model(self._java_obj.fitOnParquet(path))
        return self._copyValues(model)

    def _fit_java(self, dataset: DataFrame) -> JavaObject:
        with progress_bar(self.uid, self.getVerbose()), translated():
            return super()._fit_java(dataset)

    def _create_model(self, java_model: JavaObject) -> NeuralNetClassificationModel:
        return NeuralNetClassificationModel(java_model)
