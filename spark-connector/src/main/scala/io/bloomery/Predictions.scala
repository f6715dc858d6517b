package io.bloomery

import org.apache.spark.ml.attribute.{AttributeGroup, NominalAttribute}
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.types.{DoubleType, Metadata, StructField, StructType}

/** The columns that a classification model adds; one with an empty name is left out. */
private[bloomery] final case class Predictions(
    prediction: Option[StructField],
    probability: Option[StructField],
    rawPrediction: Option[StructField]) {

  /** Refuses a name that is taken. */
  def appendTo(schema: StructType): StructType =
    Seq("predictionCol" -> prediction, "probabilityCol" -> probability, "rawPredictionCol" -> rawPrediction)
      .foldLeft(schema) {
        case (grown, (param, Some(field))) =>
          Columns.absent(grown, param, field.name)
          grown.add(field)
        case (grown, _) => grown
      }
}

private[bloomery] object Predictions {

  /** Before training, when the number of classes is not asked for. */
  def of(params: PredictionParams): Predictions =
    describe(params, _ => Metadata.empty, _ => Metadata.empty)

  /** With the metadata that Spark's evaluators and indexers look for. */
  def of(params: PredictionParams, numClasses: Int): Predictions =
    describe(
      params,
      name => NominalAttribute.defaultAttr.withName(name).withNumValues(numClasses).toMetadata(),
      name => new AttributeGroup(name, numClasses).toMetadata())

  private def describe(
      params: PredictionParams,
      classMetadata: String => Metadata,
      vectorMetadata: String => Metadata): Predictions = {
    def vector(name: String): Option[StructField] =
      named(name).map(StructField(_, VectorType, nullable = false, vectorMetadata(name)))
    Predictions(
      named(params.getPredictionCol)
        .map(name => StructField(name, DoubleType, nullable = false, classMetadata(name))),
      vector(params.getProbabilityCol),
      vector(params.getRawPredictionCol))
  }

  private def named(name: String): Option[String] = Option(name).filter(_.nonEmpty)
}
