package org.apache.spark.sql.bloomery

import scala.concurrent.duration._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * The rows that one call of the engine predicts; what goes on of each is kept as it passes by. The
 * first batches are small, so that `show` and `limit` do not wait for rows that they never ask for,
 * and a batch of slow rows ends early.
 */
private[bloomery] final class PredictBatch(columns: PredictedColumns, rows: Iterator[InternalRow], maxRows: Int)
    extends Iterator[InternalRow] {

  private val kept = new KeptRows(columns.kept.length)
  private val toKept = UnsafeProjection.create(columns.kept, columns.input)
  private var limit = math.min(PredictBatch.FirstRows, maxRows)
  private var started = 0L

  def numRows: Int = kept.size

  /** What is kept of a row; valid until the next call. */
  def apply(index: Int): UnsafeRow = kept(index)

  /** Begins the next batch, of twice as many rows if the last one was full. */
  def start(): Unit = {
    if (numRows == limit && limit <= maxRows / 2) limit *= 2
    kept.clear()
    started = System.nanoTime()
  }

  override def hasNext: Boolean = (numRows == 0 || hasRoom) && rows.hasNext

  override def next(): InternalRow = {
    val row = rows.next()
    row match {
      case unsafe: UnsafeRow if columns.keepsAll => kept.append(unsafe)
      case other => kept.append(toKept(other))
    }
    row
  }

  private def hasRoom: Boolean =
    numRows < limit && kept.sizeInBytes < PredictBatch.MaxBytes && System.nanoTime() - started < PredictBatch.MaxNanos
}

private[bloomery] object PredictBatch {

  /** A little more than `show` asks for. */
  private val FirstRows = 32
  private val MaxBytes = 8 << 20
  private val MaxNanos = 200.millis.toNanos
}
