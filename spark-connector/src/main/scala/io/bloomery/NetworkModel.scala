package io.bloomery

import io.bloomery.engine.{Description, Json, NativePredictor, Safetensors, Tensor}
import io.bloomery.network.Network
import org.apache.spark.bloomery.EvaluateJob
import org.apache.spark.ml.bloomery.ServedModel
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.{Identifiable, MLReadable, MLReader, MLWritable, MLWriter}
import org.apache.spark.sql.{DataFrame, Dataset}
import org.apache.spark.sql.bloomery.{PredictColumns, PredictedField}
import org.apache.spark.sql.types.StructType
import scala.jdk.CollectionConverters._
import scala.util.Using

/** What all models share: a trained network whose `transform` is lazy, batched and native. */
abstract class NetworkModel[M <: NetworkModel[M]] private[bloomery] (private[bloomery] val trained: TrainedNetwork)
    extends ServedModel[M, TrainingSummary]
    with NetworkParams
    with MLWritable {

  protected def make(trained: TrainedNetwork): M

  /** Whether labels may be values, several of them in a column. */
  protected def takesValues: Boolean

  def network: Network = trained.network

  /** As safetensors. */
  def weights: Array[Byte] = trained.weights

  /** The same by name, such as `conv2d/kernel`, laid out as Keras has them. */
  def tensors: Map[String, Tensor] = Safetensors.read(weights)
  override def summary: TrainingSummary = trained.summary
  def numParameters: Long = described.parameters
  private[bloomery] def described: Description = trained.description

  protected override def bytes: Long = weights.length.toLong + network.toJson.length + summary.toJson.length

  override def transform(dataset: Dataset[_]): DataFrame = {
    transformSchema(dataset.schema, logging = true)
    PredictColumns.add(
      dataset,
      Columns.features(dataset.schema, inputs(described).columns),
      predictions(described).columns.map(made => PredictedField(made.field, made.kind)),
      trained.shared,
      TaskJson.prediction(network, this, described))
  }

  override def transformSchema(schema: StructType): StructType = {
    Columns.features(schema, inputs(described).columns)
    predictions(described).appendTo(schema)
  }

  /**
   * Loss and metrics of these rows, which have labels, under the names that the history has: each executor measures its
   * own, and only sums come to the driver. Class weights do not count, as in validation.
   */
  def evaluate(dataset: Dataset[_]): Map[String, Double] = {
    if (dataset.isStreaming) {
      throw new UserError("A stream has no last row to measure up to; evaluate each of its batches in foreachBatch")
    }
    val schema = dataset.schema
    val features = inputs(described).columns.map(column => column.name -> Columns.features(schema, column))
    val labels = targets(described).columns.map(label => label.name -> Columns.label(schema, label, takesValues))
    val weight = TaskJson.column(this, weightCol).map(name => name -> Columns.number(schema, "weightCol", name))
    val columns = (features ++ labels ++ weight).distinctBy(_._1).map(_._2)
    EvaluateJob.run(
      dataset.select(columns: _*),
      TaskJson.evaluation(network, this, described),
      trained.shared,
      described.rowBytes)
  }

  /** For Python. */
  private[bloomery] def evaluation(dataset: Dataset[_]): java.util.Map[String, Double] = evaluate(dataset).asJava

  /** Writes network and weights as one ONNX file, on any file system that Hadoop knows; one that is there is replaced. */
  def exportOnnx(path: String): Unit = OnnxFile.write(network, weights, path)

  override def copy(extra: ParamMap): M = copyValues(make(trained), extra).setParent(parent)

  override def write: MLWriter = new ModelWriter(this)
}

/** How a model is read back. */
private[bloomery] abstract class NetworkModelReadable[M <: NetworkModel[M]] extends MLReadable[M] {
  protected def make(uid: String, trained: TrainedNetwork): M

  override def read: MLReader[M] = new ModelReader[M](SavedClass.of(this), make)

  override def load(path: String): M = super.load(path)

  /** A model of a network, as JSON, and weights, as safetensors, that were trained elsewhere. */
  def of(network: String, weights: Array[Byte]): M = {
    val task = Json.obj("network" -> Json.parse(network, "network")).toString
    Using.resource(NativePredictor.open(task, weights))(_ => ()) // says what is wrong with the weights
    make(
      Identifiable.randomUID("neuralNetModel"),
      TrainedNetwork(Network.fromJson(network), weights, TrainingSummary.none))
  }
}
