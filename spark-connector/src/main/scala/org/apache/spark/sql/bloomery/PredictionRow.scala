package org.apache.spark.sql.bloomery

import org.apache.spark.ml.linalg.{Vectors, VectorUDT}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  GenericInternalRow,
  UnsafeArrayData,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.types.DoubleType
import org.apache.spark.unsafe.Platform

/**
 * The predictions of one row as Spark wants them: a double, and dense vectors, all of one size. So the
 * row's layout never changes: it is made once, and only the numbers in it are written anew. A binary network's only value p
 * is that of class 1: probabilities are 1 - p and p, raw predictions -r and r, as Spark's own classifiers have them.
 */
private[bloomery] final class PredictionRow(columns: PredictedColumns, classes: Int, isBinary: Boolean) {
  private val hasPrediction = columns.prediction.isDefined
  private val hasProbability = columns.probability.isDefined
  private val hasRaw = columns.rawPrediction.isDefined
  private val row: UnsafeRow = {
    val vector = new VectorUDT().serialize(Vectors.dense(new Array[Double](classes)))
    val values: Array[Any] = columns.made.map(_.dataType match {
      case DoubleType => 0.0
      case _ => vector
    }).toArray
    UnsafeProjection.create(columns.made.map(_.dataType).toArray)(new GenericInternalRow(values)).copy()
  }
  private val probabilityOffset = columns.probability.fold(0L)(valuesOffset)
  private val rawOffset = columns.rawPrediction.fold(0L)(valuesOffset)

  /** From the engine's floats of one row, by address; valid until the next call. */
  def of(probability: Long, raw: Long): UnsafeRow = {
    if (isBinary) writeBinary(probability, raw)
    else {
      if (hasPrediction) row.setDouble(0, largest(probability).toDouble)
      if (hasProbability) write(probabilityOffset, probability)
      if (hasRaw) write(rawOffset, raw)
    }
    row
  }

  private def writeBinary(probability: Long, raw: Long): Unit = {
    if (hasPrediction) row.setDouble(0, if (valueAt(probability) > 0.5f) 1.0 else 0.0)
    if (hasProbability) writePair(probabilityOffset, 1.0 - valueAt(probability), valueAt(probability))
    if (hasRaw) writePair(rawOffset, -valueAt(raw), valueAt(raw))
  }

  private def valueAt(address: Long): Float = Platform.getFloat(PredictionRow.OffHeap, address)

  private def writePair(offset: Long, first: Double, second: Double): Unit = {
    Platform.putDouble(row.getBaseObject, offset, first)
    Platform.putDouble(row.getBaseObject, offset + 8L, second)
  }

  private def write(offset: Long, from: Long): Unit = {
    val base = row.getBaseObject
    var i = 0
    while (i < classes) {
      Platform.putDouble(base, offset + 8L * i, Platform.getFloat(PredictionRow.OffHeap, from + 4L * i).toDouble)
      i += 1
    }
  }

  /** The first of the largest. */
  private def largest(from: Long): Int = {
    var best = 0
    var bestValue = Platform.getFloat(PredictionRow.OffHeap, from)
    var i = 1
    while (i < classes) {
      val value = Platform.getFloat(PredictionRow.OffHeap, from + 4L * i)
      if (value > bestValue) {
        best = i
        bestValue = value
      }
      i += 1
    }
    best
  }

  /** Where the numbers of a vector lie in the row's memory; they are the last field of its struct. */
  private def valuesOffset(vector: Attribute): Long = {
    val ordinal = columns.made.indexOf(vector)
    val values = row.getStruct(ordinal, PredictionRow.VectorFields).getArray(PredictionRow.VectorFields - 1)
    values.getBaseOffset + UnsafeArrayData.calculateHeaderPortionInBytes(classes)
  }
}

private[bloomery] object PredictionRow {
  private val VectorFields = 4

  /** Spark's memory functions take this object for "an address outside the heap". */
  private val OffHeap: AnyRef = null
}
