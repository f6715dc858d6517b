package org.apache.spark.sql.bloomery

import org.apache.arrow.memory.{ArrowBuf, BufferAllocator}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * The memory that the engine writes the predictions of a batch into, `rowWidth` floats a row, and that Spark's rows
 * are made from. Used again by the next batch; owned here.
 */
private[bloomery] final class PredictOutputs(
    columns: Seq[Made],
    rowWidth: Int,
    allocator: BufferAllocator)
    extends AutoCloseable {

  private val made = new PredictionRow(columns)
  private val needsProbability = columns.exists(!_.kind.isRaw)
  private val needsRaw = columns.exists(_.kind.isRaw)
  private val rowBytes = 4L * rowWidth
  private var buffers = Seq.empty[ArrowBuf]
  private var capacity = 0

  private var probabilityAddress = 0L
  private var rawAddress = 0L

  /** Addresses; 0 where nobody asks for them. */
  def probability: Long = probabilityAddress
  def raw: Long = rawAddress

  /** Makes room for this many rows; what was there is lost. */
  def reserve(rows: Int): Unit = if (rows > capacity) {
    close()
    if (needsProbability) probabilityAddress = allocate(rows)
    if (needsRaw) rawAddress = allocate(rows)
    capacity = rows
  }

  /** The predictions of one row; valid until the next call. */
  def apply(index: Int): UnsafeRow = made.of(probability + index * rowBytes, raw + index * rowBytes)

  override def close(): Unit = {
    capacity = 0
    buffers.foreach(_.close())
    buffers = Seq.empty
  }

  private def allocate(rows: Int): Long = {
    val buffer = allocator.buffer(rows * rowBytes)
    buffers :+= buffer
    buffer.memoryAddress()
  }
}
