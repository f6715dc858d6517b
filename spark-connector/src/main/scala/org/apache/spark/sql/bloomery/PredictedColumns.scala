package org.apache.spark.sql.bloomery

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types.{StructField, StructType}

/** The columns of a prediction: those that come, the features among them, those that go on, and those that are made. */
private[bloomery] final case class PredictedColumns(
    features: Attribute,
    input: Seq[Attribute],
    kept: Seq[Attribute],
    made: Seq[Made]) {

  def featuresOrdinal: Int = ordinalOf(features)
  def ordinalOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)
  def featuresField: StructField = StructField(features.name, features.dataType)
  val keepsAll: Boolean = kept.length == input.length
  def keptSchema: StructType = PredictedColumns.schema(kept)
  def madeSchema: StructType = PredictedColumns.schema(made.map(_.attribute))
}

private[bloomery] object PredictedColumns {
  private def schema(attributes: Seq[Attribute]): StructType =
    StructType(attributes.map(attribute => StructField(attribute.name, attribute.dataType, attribute.nullable)))
}
