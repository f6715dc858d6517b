package io.bloomery

import io.bloomery.engine.Description
import org.apache.spark.ml.attribute.{AttributeGroup, NominalAttribute}
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.bloomery.PredictionKind
import org.apache.spark.sql.types.{DoubleType, Metadata, StructField, StructType}

/** A column that a model adds, and which of the network's values it is made of; `param` gave its name. */
private[bloomery] final case class Predicted(param: String, field: StructField, kind: PredictionKind)

/** The columns that a model adds; one with an empty name is left out. */
private[bloomery] final class Predictions private (all: Seq[Predicted]) {
  val columns: Seq[Predicted] = all.filter(_.field.name.nonEmpty)

  /** Refuses a name that is taken. */
  def appendTo(schema: StructType): StructType =
    columns.foldLeft(schema) { (grown, made) =>
      Columns.absent(grown, made.param, made.field.name)
      grown.add(made.field)
    }
}

private[bloomery] object Predictions {

  /**
   * The class, the probabilities and the values before softmax, with the metadata that Spark's evaluators and indexers
   * look for.
   */
  def ofClasses(
      prediction: String,
      probability: String,
      rawPrediction: String,
      thresholds: Option[Seq[Double]],
      labels: Option[Seq[String]],
      described: Description): Predictions = {
    val output = described.outputs.head
    val classes = described.classes
    checkThresholds(thresholds, classes)
    labels.filter(_.length != classes).foreach { words =>
      throw new UserError(
        s"Labels and classes differ in number: ${words.length} labels, classes of the network: $classes")
    }
    lazy val nominal = NominalAttribute.defaultAttr.withName(prediction)
    val metadata =
      if (prediction.isEmpty) Metadata.empty
      else labels.fold(nominal.withNumValues(classes))(words => nominal.withValues(words.toArray)).toMetadata()
    val (choice, likely, raw) =
      if (described.isBinary)
        (PredictionKind.Decision(thresholds), PredictionKind.Pair(isRaw = false), PredictionKind.Pair(isRaw = true))
      else
        (
          PredictionKind.Largest(output.width, thresholds),
          PredictionKind.Values(0, output.width, isRaw = false),
          PredictionKind.Values(0, output.width, isRaw = true))
    new Predictions(
      Seq(
        Predicted("predictionCol", StructField(prediction, DoubleType, nullable = false, metadata), choice),
        Predicted("probabilityCol", vector(probability, classes), likely),
        Predicted("rawPredictionCol", vector(rawPrediction, classes), raw)))
  }

  /** The values of outputs as the network gives them: a double, or a vector of several. */
  def ofValues(columns: Seq[(String, String, Description.Output)]): Predictions = {
    val offsets = columns.map(_._3.width).scanLeft(0)(_ + _)
    new Predictions(columns.zip(offsets).map {
      case ((param, name, output), offset) if output.width == 1 =>
        Predicted(param, StructField(name, DoubleType, nullable = false), PredictionKind.Value(offset))
      case ((param, name, output), offset) =>
        Predicted(param, vector(name, output.width), PredictionKind.Values(offset, output.width, isRaw = false))
    })
  }

  private def vector(name: String, size: Int): StructField = {
    val metadata = if (name.isEmpty) Metadata.empty else new AttributeGroup(name, size).toMetadata()
    StructField(name, VectorType, nullable = false, metadata)
  }

  /** As Spark has them: one for each class, none below 0 and at most one of them 0. */
  private def checkThresholds(thresholds: Option[Seq[Double]], classes: Int): Unit = thresholds.foreach { values =>
    if (values.length != classes) {
      throw new UserError(s"Wrong number of thresholds: ${values.length}, classes of the network: $classes")
    }
    if (values.exists(value => !(value >= 0) || value.isInfinite) || values.count(_ == 0) > 1) {
      throw new UserError(s"thresholds must be numbers of at least 0, at most one of them 0: ${values.mkString(", ")}")
    }
  }
}
