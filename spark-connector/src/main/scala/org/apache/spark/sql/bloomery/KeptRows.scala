package org.apache.spark.sql.bloomery

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * Rows of a batch until their predictions are there: the child overwrites its row, but ours go out
 * only after the whole batch has been read. One piece of memory for all, used again by the next batch.
 */
private[bloomery] final class KeptRows(numFields: Int) {
  private var bytes = new Array[Byte](1 << 16)
  private var ends = new Array[Int](1 << 10)
  private var used = 0
  private var count = 0
  private val view = new UnsafeRow(numFields)

  def size: Int = count
  def sizeInBytes: Int = used

  def clear(): Unit = {
    used = 0
    count = 0
  }

  def append(row: UnsafeRow): Unit = {
    val end = Math.addExact(used, row.getSizeInBytes)
    if (end > bytes.length) bytes = java.util.Arrays.copyOf(bytes, Math.max(end, doubled(bytes.length)))
    if (count == ends.length) ends = java.util.Arrays.copyOf(ends, doubled(ends.length))
    Platform.copyMemory(
      row.getBaseObject,
      row.getBaseOffset,
      bytes,
      Platform.BYTE_ARRAY_OFFSET + used.toLong,
      row.getSizeInBytes.toLong)
    used = end
    ends(count) = end
    count += 1
  }

  /** Valid until the next call. */
  def apply(index: Int): UnsafeRow = {
    val start = if (index == 0) 0 else ends(index - 1)
    view.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start.toLong, ends(index) - start)
    view
  }

  private def doubled(length: Int): Int = Math.min(2L * length, KeptRows.MaxArray.toLong).toInt
}

private[bloomery] object KeptRows {
  private val MaxArray = Int.MaxValue - 15
}
