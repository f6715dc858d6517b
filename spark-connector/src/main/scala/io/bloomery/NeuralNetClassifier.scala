package io.bloomery

import io.bloomery.engine.{Engine, Json}
import io.bloomery.network.Network
import io.bloomery.optim.Optimizer
import io.bloomery.training.{Loss, Metric}
import org.apache.spark.bloomery.{TrainJob, TrainRequest, WorkerMemory}
import org.apache.spark.ml.Estimator
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.{DefaultParamsReadable, DefaultParamsWritable, Identifiable}
import org.apache.spark.sql.{Column, DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.types.StructType

/**
 * Trains a neural network that classifies, inside Spark's executors.
 * `new NeuralNetClassifier().setNetwork(Sequential(...)).setEpochs(30).fit(train)`
 */
final class NeuralNetClassifier(override val uid: String)
    extends Estimator[NeuralNetClassificationModel]
    with NeuralNetParams
    with DefaultParamsWritable {

  def this() = this(Identifiable.randomUID("neuralNetClassifier"))

  def setNetwork(value: Network): this.type = set(network, value.toJson)
  def setNetwork(json: String): this.type = set(network, json)
  def setFeaturesCol(value: String): this.type = set(featuresCol, value)
  def setFeaturesCols(value: Array[String]): this.type = set(featuresCols, value)
  def setNulls(value: String): this.type = set(nulls, value)
  def setNans(value: String): this.type = set(nans, value)
  def setLabelCol(value: String): this.type = set(labelCol, value)
  def setPredictionCol(value: String): this.type = set(predictionCol, value)
  def setProbabilityCol(value: String): this.type = set(probabilityCol, value)
  def setRawPredictionCol(value: String): this.type = set(rawPredictionCol, value)
  def setWeightCol(value: String): this.type = set(weightCol, value)
  def setValidationIndicatorCol(value: String): this.type = set(validationIndicatorCol, value)
  def setValidationFraction(value: Double): this.type = set(validationFraction, value)
  def setLabelVocabulary(value: Array[String]): this.type = set(labelVocabulary, value)
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
  def setLoss(value: String): this.type = set(loss, value)
  def setLoss(value: Loss): this.type = set(loss, value.toJson)
  def setMetrics(value: Array[String]): this.type = set(metrics, value)
  def setMetrics(first: Metric, more: Metric*): this.type =
    set(metrics, (first +: more).map(_.text).toArray)
  def setClassWeights(value: String): this.type = set(classWeights, value)
  def setClassWeights(value: Map[Int, Double]): this.type =
    set(classWeights, Json.obj(value.toSeq.sorted.map { case (k, v) => k.toString -> v }: _*).toString)
  def setBatchSize(value: Int): this.type = set(batchSize, value)
  def setGlobalBatchSize(value: Int): this.type = set(globalBatchSize, value)
  def setEpochs(value: Int): this.type = set(epochs, value)
  def setStepsPerEpoch(value: Int): this.type = set(stepsPerEpoch, value)
  def setSeed(value: Long): this.type = set(seed, value)
  def setShuffle(value: Boolean): this.type = set(shuffle, value)
  def setShuffleBuffer(value: Int): this.type = set(shuffleBuffer, value)
  def setDataMemory(value: Long): this.type = set(dataMemory, value)
  def setNumWorkers(value: Int): this.type = set(numWorkers, value)
  def setForceRepartition(value: Boolean): this.type = set(forceRepartition, value)
  def setConnectTimeout(value: Double): this.type = set(connectTimeout, value)
  def setStepTimeout(value: Double): this.type = set(stepTimeout, value)
  def setSlotTimeout(value: Double): this.type = set(slotTimeout, value)

  override def fit(dataset: Dataset[_]): NeuralNetClassificationModel = {
    val started = System.nanoTime()
    val request = this.request(dataset)
    val outcome = TrainJob.run(select(dataset), request)
    val seconds = (System.nanoTime() - started) / 1e9
    val summary =
      TrainingSummary(outcome.workerHistory, seconds, $(numWorkers), outcome.trace, outcome.input, outcome.events)
    val model =
      new NeuralNetClassificationModel(uid, Network.fromJson($(network)), outcome.weights, summary)
    copyValues(model.setParent(this))
  }

  /**
   * What `fit` would do with this data, as text: which way the rows come and to which worker, what becomes of each
   * column, when the first step is, memory, threads, and whether a repeated fit gives the same bits. No job runs.
   */
  def describe(dataset: Dataset[_]): String = {
    val request = this.request(dataset)
    new FitDescription(this, dataset.schema, dataset.sparkSession.sparkContext.getConf)
      .of(select(dataset), request)
  }

  /** Refuses what can never run, before any job. */
  private def request(dataset: Dataset[_]): TrainRequest = {
    transformSchema(dataset.schema, logging = true)
    if ($(numWorkers) < 1) throw new UserError(s"numWorkers must be at least 1: ${$(numWorkers)}")
    val task = TaskJson.training(this)
    val description = Engine.describe(task)
    val checkpoints = CheckpointParams.request(this)
    TrainJob.check(dataset.sparkSession, $(numWorkers), checkpoints)
    WorkerMemory.check(
      dataset.sparkSession.sparkContext.getConf,
      description.memoryBytes,
      get(dataMemory),
      $(numWorkers))
    TrainRequest(
      task,
      description.rowBytes,
      $(numWorkers),
      $(forceRepartition),
      $(connectTimeout),
      $(slotTimeout),
      $(verbose),
      checkpoints,
      $(maxRestarts),
      uid,
      get(tensorboardDir).map(_.trim).filter(_.nonEmpty))
  }

  /** Fits on all rows of a Parquet file or folder, of any file system that Spark knows. */
  def fitOnParquet(path: String): NeuralNetClassificationModel =
    fit(SparkSession.active.read.parquet(path))

  override def transformSchema(schema: StructType): StructType = {
    columns(schema)
    Predictions.of(this).appendTo(schema)
  }

  override def copy(extra: ParamMap): NeuralNetClassifier = defaultCopy(extra)

  private def select(dataset: Dataset[_]): DataFrame =
    dataset.select(columns(dataset.schema): _*)

  /** Each column once, whatever it is used for. */
  private def columns(schema: StructType): Seq[Column] = {
    val features =
      FeatureColumn.of(this).map(column => column.name -> Columns.features(schema, column))
    val label =
      $(labelCol) -> Columns.label(schema, "labelCol", $(labelCol), isSet(labelVocabulary))
    val weight =
      TaskJson.column(this, weightCol).map(name => name -> Columns.number(schema, "weightCol", name))
    val indicator = TaskJson
      .column(this, validationIndicatorCol)
      .map(name => name -> Columns.boolean(schema, "validationIndicatorCol", name))
    ((features :+ label) ++ weight ++ indicator).distinctBy(_._1).map(_._2)
  }
}

object NeuralNetClassifier extends DefaultParamsReadable[NeuralNetClassifier] {
  override def load(path: String): NeuralNetClassifier = super.load(path)
}
