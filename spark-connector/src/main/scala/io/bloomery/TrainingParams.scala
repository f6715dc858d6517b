package io.bloomery

import io.bloomery.network.Network
import io.bloomery.optim.Optimizer
import org.apache.spark.ml.param._
import org.apache.spark.ml.param.shared._

/**
 * Params of training. Those without a default are sent to the engine only when set: its own
 * defaults hold, and it refuses what it does not know.
 */
trait TrainingParams
    extends NetworkParams
    with HasValidationIndicatorCol
    with CheckpointParams
    with StoppingParams
    with ProgressParams {

  final val network: Param[String] =
    new Param[String](this, "network", "the network, as JSON or made by io.bloomery.network.Sequential or Model")

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

  final val workerCpus: IntParam = new IntParam(
    this,
    "workerCpus",
    "cores, and so threads, of each worker while it trains; without it spark.task.cpus")

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

  final val initialModel: Param[String] = new Param[String](
    this,
    "initialModel",
    "the folder of a saved model whose weights training begins with; layers of other names begin anew")

  setDefault(
    numWorkers -> 1,
    forceRepartition -> false,
    connectTimeout -> 60.0,
    stepTimeout -> 60.0,
    slotTimeout -> 120.0)

  // For explainParams and the getters alone: the task has what is set, and the engine's own defaults hold for the rest.
  setDefault(
    validationFraction -> 0.0,
    optimizer -> "adam",
    backwardPassesPerStep -> 1,
    gradientCompression -> "none",
    localSteps -> 1,
    batchSize -> 32,
    epochs -> 1,
    seed -> 0L,
    shuffle -> true,
    shuffleBuffer -> 2048)

  final def getNetwork: String = $(network)
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
  final def getBatchSize: Int = $(batchSize)
  final def getGlobalBatchSize: Int = $(globalBatchSize)
  final def getEpochs: Int = $(epochs)
  final def getStepsPerEpoch: Int = $(stepsPerEpoch)
  final def getSeed: Long = $(seed)
  final def getShuffle: Boolean = $(shuffle)
  final def getShuffleBuffer: Int = $(shuffleBuffer)
  final def getDataMemory: Long = $(dataMemory)
  final def getNumWorkers: Int = $(numWorkers)
  final def getWorkerCpus: Int = $(workerCpus)
  final def getForceRepartition: Boolean = $(forceRepartition)
  final def getConnectTimeout: Double = $(connectTimeout)
  final def getStepTimeout: Double = $(stepTimeout)
  final def getSlotTimeout: Double = $(slotTimeout)
  final def getInitialModel: String = $(initialModel)

  def setNetwork(value: Network): this.type = set(network, value.toJson)
  def setNetwork(json: String): this.type = set(network, json)
  def setValidationIndicatorCol(value: String): this.type = set(validationIndicatorCol, value)
  def setValidationFraction(value: Double): this.type = set(validationFraction, value)
  def setOptimizer(value: String): this.type = set(optimizer, value)
  def setOptimizer(value: Optimizer): this.type = set(optimizer, value.toJson)
  def setLearningRate(value: Double): this.type = set(learningRate, value)
  def setMomentum(value: Double): this.type = set(momentum, value)
  def setClipNorm(value: Double): this.type = set(clipNorm, value)
  def setClipValue(value: Double): this.type = set(clipValue, value)
  def setEmaMomentum(value: Double): this.type = set(emaMomentum, value)
  def setBackwardPassesPerStep(value: Int): this.type = set(backwardPassesPerStep, value)
  def setGradientCompression(value: String): this.type = set(gradientCompression, value)
  def setLocalSteps(value: Int): this.type = set(localSteps, value)
  def setBatchSize(value: Int): this.type = set(batchSize, value)
  def setGlobalBatchSize(value: Int): this.type = set(globalBatchSize, value)
  def setEpochs(value: Int): this.type = set(epochs, value)
  def setStepsPerEpoch(value: Int): this.type = set(stepsPerEpoch, value)
  def setSeed(value: Long): this.type = set(seed, value)
  def setShuffle(value: Boolean): this.type = set(shuffle, value)
  def setShuffleBuffer(value: Int): this.type = set(shuffleBuffer, value)
  def setDataMemory(value: Long): this.type = set(dataMemory, value)
  def setNumWorkers(value: Int): this.type = set(numWorkers, value)
  def setWorkerCpus(value: Int): this.type = set(workerCpus, value)
  def setForceRepartition(value: Boolean): this.type = set(forceRepartition, value)
  def setConnectTimeout(value: Double): this.type = set(connectTimeout, value)
  def setStepTimeout(value: Double): this.type = set(stepTimeout, value)
  def setSlotTimeout(value: Double): this.type = set(slotTimeout, value)
  def setInitialModel(path: String): this.type = set(initialModel, path)
}
