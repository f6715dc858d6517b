package io.bloomery

import io.bloomery.engine.{Description, Engine, Json, NativePredictor}
import io.bloomery.network.Network
import org.apache.spark.bloomery.SharedModel
import org.apache.spark.ml.Model
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.{Identifiable, MLReadable, MLReader, MLWritable, MLWriter}
import org.apache.spark.sql.{DataFrame, Dataset}
import org.apache.spark.sql.bloomery.PredictColumns
import org.apache.spark.sql.types.StructType
import scala.util.Using

/** A trained network that classifies; `transform` is lazy, batched and native. */
final class NeuralNetClassificationModel private[bloomery] (
    override val uid: String,
    val network: Network,
    val weights: Array[Byte],
    val summary: TrainingSummary)
    extends Model[NeuralNetClassificationModel]
    with PredictionParams
    with MLWritable {

  private lazy val description: Description = Engine.describe(task)
  private lazy val shared =
    new SharedModel(weights, description.classes, description.isBinary, description.rowBytes)

  def setFeaturesCol(value: String): this.type = set(featuresCol, value)
  def setFeaturesCols(value: Array[String]): this.type = set(featuresCols, value)
  def setNulls(value: String): this.type = set(nulls, value)
  def setNans(value: String): this.type = set(nans, value)
  def setPredictionCol(value: String): this.type = set(predictionCol, value)
  def setProbabilityCol(value: String): this.type = set(probabilityCol, value)
  def setRawPredictionCol(value: String): this.type = set(rawPredictionCol, value)

  def numClasses: Int = description.classes
  def numParameters: Long = description.parameters

  override def transform(dataset: Dataset[_]): DataFrame = {
    transformSchema(dataset.schema, logging = true)
    val predictions = Predictions.of(this, numClasses)
    PredictColumns.add(
      dataset,
      Columns.features(dataset.schema, FeatureColumn.of(this)),
      predictions.prediction,
      predictions.probability,
      predictions.rawPrediction,
      shared,
      task)
  }

  /** Names the user's columns, so that the engine's errors do. */
  private def task: String = TaskJson.prediction(network.toJson, this)

  override def transformSchema(schema: StructType): StructType = {
    Columns.features(schema, FeatureColumn.of(this))
    Predictions.of(this, numClasses).appendTo(schema)
  }

  override def copy(extra: ParamMap): NeuralNetClassificationModel =
    copyValues(new NeuralNetClassificationModel(uid, network, weights, summary), extra)
      .setParent(parent)

  /** Writes network and weights as one ONNX file, on any file system that Hadoop knows; one that is there is replaced. */
  def exportOnnx(path: String): Unit = OnnxFile.write(network, weights, path)

  override def write: MLWriter = new ModelWriter(this)

  override def toString: String =
    s"NeuralNetClassificationModel: uid=$uid, numClasses=$numClasses, numParameters=$numParameters"
}

object NeuralNetClassificationModel extends MLReadable[NeuralNetClassificationModel] {
  override def read: MLReader[NeuralNetClassificationModel] = new ModelReader

  override def load(path: String): NeuralNetClassificationModel = super.load(path)

  /** A model of a network, as JSON, and weights, as safetensors, that were trained elsewhere. */
  def of(network: String, weights: Array[Byte]): NeuralNetClassificationModel = {
    val task = Json.obj("network" -> Json.parse(network, "network")).toString
    Using.resource(NativePredictor.open(task, weights))(_ => ()) // says what is wrong with the weights
    new NeuralNetClassificationModel(
      Identifiable.randomUID("neuralNetModel"),
      Network.fromJson(network),
      weights,
      TrainingSummary(Seq.empty, 0, 0, Map.empty, "none"))
  }
}
