package org.apache.spark.bloomery

import org.apache.arrow.vector.{BaseFixedWidthVector, BaseVariableWidthVector, BitVectorHelper}
import org.apache.spark.unsafe.Platform

/** Pieces of memory that go straight into Arrow vectors; none of their values is null. */
private[bloomery] object RawCopy {

  /** So many values of the vector's width, to place `first` and behind. */
  def values(base: AnyRef, offset: Long, to: BaseFixedWidthVector, first: Int, count: Int): Unit = {
    while (to.getValueCapacity < first + count) to.reAlloc()
    val width = to.getTypeWidth.toLong
    Platform.copyMemory(
      base,
      offset,
      ArrowColumn.OffHeap,
      to.getDataBuffer.memoryAddress() + first * width,
      count * width)
    markPresent(to, first, count)
  }

  /** The bytes of one binary or text. */
  def bytes(base: AnyRef, offset: Long, size: Int, to: BaseVariableWidthVector, index: Int): Unit = {
    to.setValueLengthSafe(index, size)
    BitVectorHelper.setBit(to.getValidityBuffer, index.toLong)
    Platform.copyMemory(
      base,
      offset,
      ArrowColumn.OffHeap,
      to.getDataBuffer.memoryAddress() + to.getStartOffset(index),
      size.toLong)
  }

  /** Whole bytes of the validity bitmap at once, single bits at both ends. */
  private def markPresent(values: BaseFixedWidthVector, first: Int, size: Int): Unit = {
    val bitmap = values.getValidityBuffer
    val end = first + size
    val firstByte = (first + 7) / 8
    val endByte = end / 8
    if (firstByte < endByte) {
      (first until firstByte * 8).foreach(i => BitVectorHelper.setBit(bitmap, i.toLong))
      bitmap.setOne(firstByte.toLong, (endByte - firstByte).toLong)
      (endByte * 8 until end).foreach(i => BitVectorHelper.setBit(bitmap, i.toLong))
    } else (first until end).foreach(i => BitVectorHelper.setBit(bitmap, i.toLong))
  }
}
