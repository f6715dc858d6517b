package org.apache.spark.sql.bloomery

import scala.concurrent.duration._

import org.apache.spark.bloomery.ArrowExport
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The rows that one call of the engine predicts, and what goes on of each. The first batches are small, so that `show`
 * and `limit` do not wait for rows that they never ask for.
 */
private[bloomery] trait PredictBatch {

  /** Whether there are rows behind this batch. Asked only when all of its rows have gone on. */
  def hasMore: Boolean

  def numRows: Int

  /** What is kept of a row; valid until the next call. */
  def apply(index: Int): UnsafeRow

  /** Goes to the next batch; `consume` gets its features as the address of a C ArrowArray, and its row count. */
  def next(features: ArrowExport)(consume: (Long, Int) => Unit): Unit

  /** Once nothing more is asked for. */
  def close(): Unit = ()
}

/** Spark's rows, kept as they pass by; a batch of slow rows ends early. */
private[bloomery] final class RowsToPredict(columns: PredictedColumns, rows: Iterator[InternalRow], maxRows: Int)
    extends PredictBatch {

  private val kept = new KeptRows(columns.kept.length)
  private val toKept = UnsafeProjection.create(columns.kept, columns.input)
  private val limit = new GrowingBatch(maxRows)
  private var started = 0L

  override def hasMore: Boolean = rows.hasNext
  override def numRows: Int = kept.size
  override def apply(index: Int): UnsafeRow = kept(index)

  override def next(features: ArrowExport)(consume: (Long, Int) => Unit): Unit = {
    limit.after(numRows)
    kept.clear()
    started = System.nanoTime()
    features.withBatch(passing)(consume)
  }

  private val passing: Iterator[InternalRow] = new Iterator[InternalRow] {
    override def hasNext: Boolean = (numRows == 0 || hasRoom) && rows.hasNext

    override def next(): InternalRow = {
      val row = rows.next()
      row match {
        case unsafe: UnsafeRow if columns.keepsAll => kept.append(unsafe)
        case other => kept.append(toKept(other))
      }
      row
    }
  }

  private def hasRoom: Boolean =
    numRows < limit.rows && kept.sizeInBytes < RowsToPredict.MaxBytes &&
      System.nanoTime() - started < RowsToPredict.MaxNanos
}

private[bloomery] object RowsToPredict {
  private val MaxBytes = 8 << 20
  private val MaxNanos = 200.millis.toNanos
}

/**
 * Spark's columnar batches, of which no rows are made but of what goes on. They need not be kept: a batch of Spark's
 * lasts till the next one is asked for.
 */
private[bloomery] final class SlicesToPredict(
    columns: PredictedColumns,
    ordinals: Seq[Int],
    batches: Iterator[ColumnarBatch],
    maxRows: Int)
    extends PredictBatch {

  private val toKept = UnsafeProjection.create(columns.kept.map { column =>
    BoundReference(ordinals(columns.ordinalOf(column)), column.dataType, column.nullable)
  })
  private val limit = new GrowingBatch(maxRows)
  private var batch = Option.empty[ColumnarBatch]
  private var first = 0
  private var count = 0
  private var end = 0 // of the slices that were taken of this batch

  override def hasMore: Boolean = {
    while (!isRest && batches.hasNext) {
      batch = Some(batches.next())
      end = 0
    }
    isRest
  }

  override def numRows: Int = count
  override def apply(index: Int): UnsafeRow = toKept(batch.get.getRow(first + index))

  override def next(features: ArrowExport)(consume: (Long, Int) => Unit): Unit = if (hasMore) {
    limit.after(count)
    first = end
    count = math.min(limit.rows, batch.get.numRows() - first)
    end = first + count
    features.withSlice(batch.get, first, count)(consume)
  }

  private def isRest: Boolean = batch.exists(end < _.numRows())
}

/** How many rows the next batch may have: twice as many where the last one was full. */
private[bloomery] final class GrowingBatch(maxRows: Int) {
  private var limit = math.min(GrowingBatch.FirstRows, maxRows)

  def rows: Int = limit

  def after(numRows: Int): Unit = if (numRows == limit && limit <= maxRows / 2) limit *= 2
}

private[bloomery] object GrowingBatch {

  /** A little more than `show` asks for. */
  private val FirstRows = 32
}
