package org.apache.spark.sql.bloomery

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types.StructField

/** What a made column is of the network's values of a row; those of several outputs lie one after the other. */
sealed trait PredictionKind {

  /** Made of the values before a last softmax or sigmoid, else of those behind it. */
  def isRaw: Boolean
}

object PredictionKind {

  /** The class with the largest probability, divided by its threshold where there are any, as a double. */
  final case class Largest(classes: Int, thresholds: Option[Seq[Double]]) extends PredictionKind {
    override def isRaw: Boolean = false
  }

  /** The same for the two classes that one probability decides between. */
  final case class Decision(thresholds: Option[Seq[Double]]) extends PredictionKind {
    override def isRaw: Boolean = false
  }

  /** That one value for both classes, as a vector: 1 - p and p, or -r and r. */
  final case class Pair(isRaw: Boolean) extends PredictionKind

  /** One value as a double. */
  final case class Value(offset: Int) extends PredictionKind {
    override def isRaw: Boolean = false
  }

  /** So many values as a vector. */
  final case class Values(offset: Int, width: Int, isRaw: Boolean) extends PredictionKind
}

/** A column to be made: its name and type, and of what. */
final case class PredictedField(field: StructField, kind: PredictionKind)

/** The same once it has a place in a plan. */
private[bloomery] final case class Made(attribute: Attribute, kind: PredictionKind)
