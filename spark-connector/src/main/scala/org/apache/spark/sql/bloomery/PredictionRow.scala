package org.apache.spark.sql.bloomery

import org.apache.spark.ml.linalg.{Vectors, VectorUDT}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeArrayData, UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.Platform

/**
 * The predictions of one row as Spark wants them: doubles, and dense vectors whose sizes never change. So the row's
 * layout never changes either: it is made once, and only the numbers in it are written anew. A binary network's only
 * value p is that of class 1: probabilities are 1 - p and p, raw predictions -r and r, as Spark's own classifiers have
 * them.
 */
private[bloomery] final class PredictionRow(columns: Seq[Made]) {
  private val row: UnsafeRow = {
    val values: Array[Any] = columns.map { made =>
      PredictionRow.vectorSize(made.kind).fold[Any](0.0) { size =>
        new VectorUDT().serialize(Vectors.dense(new Array[Double](size)))
      }
    }.toArray
    UnsafeProjection.create(columns.map(_.attribute.dataType).toArray)(new GenericInternalRow(values)).copy()
  }
  private val writers: Array[Writer] = columns.zipWithIndex.map { case (made, ordinal) =>
    writer(made.kind, ordinal)
  }.toArray

  /** From the engine's floats of one row, by address; valid until the next call. */
  def of(probability: Long, raw: Long): UnsafeRow = {
    var i = 0
    while (i < writers.length) {
      writers(i).write(if (writers(i).isRaw) raw else probability)
      i += 1
    }
    row
  }

  private abstract class Writer(val isRaw: Boolean) {
    def write(from: Long): Unit
  }

  private def writer(kind: PredictionKind, ordinal: Int): Writer = kind match {
    case PredictionKind.Largest(classes, None) =>
      new Writer(kind.isRaw) {
        override def write(from: Long): Unit = row.setDouble(ordinal, largest(from, classes).toDouble)
      }
    case PredictionKind.Largest(classes, Some(thresholds)) =>
      val limits = thresholds.toArray
      new Writer(kind.isRaw) {
        override def write(from: Long): Unit =
          row.setDouble(ordinal, mostAbove(limits, i => valueAt(from + 4L * i).toDouble, classes).toDouble)
      }
    case PredictionKind.Decision(None) =>
      new Writer(kind.isRaw) {
        override def write(from: Long): Unit = row.setDouble(ordinal, if (valueAt(from) > 0.5f) 1.0 else 0.0)
      }
    case PredictionKind.Decision(Some(thresholds)) =>
      val limits = thresholds.toArray
      new Writer(kind.isRaw) {
        override def write(from: Long): Unit = {
          val positive = valueAt(from).toDouble
          row.setDouble(ordinal, mostAbove(limits, i => if (i == 1) positive else 1.0 - positive, 2).toDouble)
        }
      }
    case PredictionKind.Pair(isRaw) =>
      val place = valuesOffset(ordinal, 2)
      new Writer(isRaw) {
        override def write(from: Long): Unit = {
          val value = valueAt(from).toDouble
          Platform.putDouble(row.getBaseObject, place, if (this.isRaw) -value else 1.0 - value)
          Platform.putDouble(row.getBaseObject, place + 8L, value)
        }
      }
    case PredictionKind.Value(offset) =>
      new Writer(kind.isRaw) {
        override def write(from: Long): Unit = row.setDouble(ordinal, valueAt(from + 4L * offset).toDouble)
      }
    case PredictionKind.Values(offset, width, isRaw) =>
      val place = valuesOffset(ordinal, width)
      new Writer(isRaw) {
        override def write(from: Long): Unit = copy(from + 4L * offset, place, width)
      }
  }

  private def valueAt(address: Long): Float = Platform.getFloat(PredictionRow.OffHeap, address)

  private def copy(from: Long, place: Long, width: Int): Unit = {
    val base = row.getBaseObject
    var i = 0
    while (i < width) {
      Platform.putDouble(base, place + 8L * i, valueAt(from + 4L * i).toDouble)
      i += 1
    }
  }

  /** The first of the largest. */
  private def largest(from: Long, classes: Int): Int = {
    var best = 0
    var bestValue = valueAt(from)
    var i = 1
    while (i < classes) {
      val value = valueAt(from + 4L * i)
      if (value > bestValue) {
        best = i
        bestValue = value
      }
      i += 1
    }
    best
  }

  /** The same for probabilities divided by thresholds, as Spark's classifiers do it: one of 0 is always passed. */
  private def mostAbove(thresholds: Array[Double], probability: Int => Double, classes: Int): Int = {
    def ratio(i: Int): Double = {
      val (value, threshold) = (probability(i), thresholds(i))
      if (threshold == 0.0 && value == 0.0) Double.NegativeInfinity else value / threshold
    }
    var best = 0
    var bestValue = ratio(0)
    var i = 1
    while (i < classes) {
      val value = ratio(i)
      if (value > bestValue) {
        best = i
        bestValue = value
      }
      i += 1
    }
    best
  }

  /** Where the numbers of a vector lie in the row's memory; they are the last field of its struct. */
  private def valuesOffset(ordinal: Int, size: Int): Long = {
    val values = row.getStruct(ordinal, PredictionRow.VectorFields).getArray(PredictionRow.VectorFields - 1)
    values.getBaseOffset + UnsafeArrayData.calculateHeaderPortionInBytes(size)
  }
}

private[bloomery] object PredictionRow {
  private val VectorFields = 4

  /** Spark's memory functions take this object for "an address outside the heap". */
  private val OffHeap: AnyRef = null

  private def vectorSize(kind: PredictionKind): Option[Int] = kind match {
    case PredictionKind.Pair(_) => Some(2)
    case PredictionKind.Values(_, width, _) => Some(width)
    case _ => None
  }
}
