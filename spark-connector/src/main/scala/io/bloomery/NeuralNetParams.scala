package io.bloomery

import org.apache.spark.ml.param._
import org.apache.spark.ml.param.shared._

/** Params that say which columns a model reads and adds. */
trait PredictionParams
    extends Params
    with HasFeaturesCol
    with HasPredictionCol
    with HasProbabilityCol
    with HasRawPredictionCol {

  final val featuresCols: StringArrayParam = new StringArrayParam(
    this,
    "featuresCols",
    """several columns that make up the input, in this order, instead of featuresCol: names, or JSON such as """ +
      """{"column": "carrier", "vocabulary": ["AA", "DL"]}""")

  final val nulls: Param[String] =
    new Param[String](this, "nulls", "what a null among the features is: error, zero or mean")

  final val nans: Param[String] =
    new Param[String](this, "nans", "what NaN or an infinity among the features is: error or pass")

  final def getFeaturesCols: Array[String] = $(featuresCols)
  final def getNulls: String = $(nulls)
  final def getNans: String = $(nans)
}

/**
 * Params of training. Those without a default are sent to the engine only when set: its own
 * defaults hold, and it refuses what it does not know.
 */
trait NeuralNetParams
    extends PredictionParams
    with HasLabelCol
    with HasWeightCol
    with HasValidationIndicatorCol
    with CheckpointParams
    with ProgressParams {

  final val network: Param[String] =
    new Param[String](this, "network", "the network, as JSON or made by io.bloomery.network.Sequential or Model")

  final val labelVocabulary: StringArrayParam = new StringArrayParam(
    this,
    "labelVocabulary",
    "the words of the label column that are the classes, in the order of their indices")

  final val validationFraction: DoubleParam = new DoubleParam(
    this,
    "validationFraction",
    "the share of the rows that are not trained on but evaluated after each epoch")

  final val optimizer: Param[String] = new Param[String](
    this,
    "optimizer",
    """sgd, adam, adamw, adadelta, adagrad, rmsprop or lamb, or JSON such as {"kind": "adam", "beta1": 0.9}""")

  final val learningRate: DoubleParam =
    new DoubleParam(this, "learningRate", "the optimizer's learning rate, never scaled by itself")

  final val momentum: DoubleParam = new DoubleParam(this, "momentum", "the momentum of sgd")

  final val clipNorm: DoubleParam =
    new DoubleParam(this, "clipNorm", "the norm of all gradients together that is not exceeded")

  final val clipValue: DoubleParam =
    new DoubleParam(this, "clipValue", "the size of each gradient that is not exceeded")

  final val emaMomentum: DoubleParam = new DoubleParam(
    this,
    "emaMomentum",
    "how much a running average of the weights keeps in each step; it is evaluated and returned")

  final val backwardPassesPerStep: IntParam = new IntParam(
    this,
    "backwardPassesPerStep",
    "batches per worker whose gradients are added up for one step")

  final val gradientCompression: Param[String] = new Param[String](
    this,
    "gradientCompression",
    "how gradients travel between workers: none (32 bits), fp16 or bf16 (16 bits)")

  final val localSteps: IntParam = new IntParam(
    this,
    "localSteps",
    "steps that each worker trains on its own before the workers average their parameters; 1 adds up gradients")

  final val loss: Param[String] = new Param[String](
    this,
    "loss",
    """a name such as categorical_crossentropy or mse, or JSON such as {"kind": "huber", "delta": 1.0}""")

  final val metrics: StringArrayParam =
    new StringArrayParam(this, "metrics", "what to report beside the loss: names such as accuracy, or JSON")

  final val classWeights: Param[String] = new Param[String](
    this,
    "classWeights",
    """what rows of a class weigh, as JSON such as {"0": 1.0, "3": 2.5}; others weigh 1""")

  final val batchSize: IntParam =
    new IntParam(this, "batchSize", "rows per step and worker; set this or globalBatchSize")

  final val globalBatchSize: IntParam =
    new IntParam(this, "globalBatchSize", "rows per step over all workers; set this or batchSize")

  final val epochs: IntParam = new IntParam(this, "epochs", "how often every row is seen")

  final val stepsPerEpoch: IntParam = new IntParam(
    this,
    "stepsPerEpoch",
    "steps of an epoch, so that a schedule that counts epochs does not wait for all rows")

  final val seed: LongParam =
    new LongParam(this, "seed", "of initial weights, order of rows and dropout: same seed, same bits")

  final val shuffle: BooleanParam =
    new BooleanParam(this, "shuffle", "whether each epoch sees the rows in a new order")

  final val shuffleBuffer: IntParam = new IntParam(
    this,
    "shuffleBuffer",
    "rows per worker that the first epoch draws from while the others still come")

  final val dataMemory: LongParam = new LongParam(
    this,
    "dataMemory",
    "bytes of rows that a worker keeps in memory; the others go to Spark's local directories")

  final val numWorkers: IntParam =
    new IntParam(this, "numWorkers", "tasks that train together, each on its share of the partitions")

  final val forceRepartition: BooleanParam = new BooleanParam(
    this,
    "forceRepartition",
    "whether to shuffle the rows into numWorkers equal partitions first")

  final val connectTimeout: DoubleParam =
    new DoubleParam(this, "connectTimeout", "seconds that workers wait for each other to start")

  final val stepTimeout: DoubleParam =
    new DoubleParam(this, "stepTimeout", "seconds after which a silent worker counts as lost")

  final val slotTimeout: DoubleParam =
    new DoubleParam(this, "slotTimeout", "seconds to wait until numWorkers task slots are there")

  setDefault(
    numWorkers -> 1,
    forceRepartition -> false,
    connectTimeout -> 60.0,
    stepTimeout -> 60.0,
    slotTimeout -> 120.0)

  final def getNetwork: String = $(network)
  final def getLabelVocabulary: Array[String] = $(labelVocabulary)
  final def getValidationFraction: Double = $(validationFraction)
  final def getOptimizer: String = $(optimizer)
  final def getLearningRate: Double = $(learningRate)
  final def getMomentum: Double = $(momentum)
  final def getClipNorm: Double = $(clipNorm)
  final def getClipValue: Double = $(clipValue)
  final def getEmaMomentum: Double = $(emaMomentum)
  final def getBackwardPassesPerStep: Int = $(backwardPassesPerStep)
  final def getGradientCompression: String = $(gradientCompression)
  final def getLocalSteps: Int = $(localSteps)
  final def getLoss: String = $(loss)
  final def getMetrics: Array[String] = $(metrics)
  final def getClassWeights: String = $(classWeights)
  final def getBatchSize: Int = $(batchSize)
  final def getGlobalBatchSize: Int = $(globalBatchSize)
  final def getEpochs: Int = $(epochs)
  final def getStepsPerEpoch: Int = $(stepsPerEpoch)
  final def getSeed: Long = $(seed)
  final def getShuffle: Boolean = $(shuffle)
  final def getShuffleBuffer: Int = $(shuffleBuffer)
  final def getDataMemory: Long = $(dataMemory)
  final def getNumWorkers: Int = $(numWorkers)
  final def getForceRepartition: Boolean = $(forceRepartition)
  final def getConnectTimeout: Double = $(connectTimeout)
  final def getStepTimeout: Double = $(stepTimeout)
  final def getSlotTimeout: Double = $(slotTimeout)
}
