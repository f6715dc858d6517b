package org.apache.spark.bloomery

import org.apache.arrow.vector.{BaseFixedWidthVector, BitVectorHelper}
import org.apache.arrow.vector.complex.ListVector
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import io.bloomery.InternalError

/**
 * Writes arrays of numbers into a list vector. Spark's own arrays lie in memory as Arrow wants
 * them and are copied in one piece; any other kind, or one with nulls, goes element by element.
 */
private[bloomery] final class ArrowListColumn(list: ListVector, element: DataType, ordinal: Int)
    extends ArrowColumn {

  private val values: BaseFixedWidthVector = list.getDataVector match {
    case fixed: BaseFixedWidthVector => fixed
    case other => throw new InternalError(s"Array of a type without a writer: ${other.getField}")
  }
  private val width = values.getTypeWidth.toLong

  override def write(row: InternalRow, index: Int): Unit =
    if (row.isNullAt(ordinal)) list.setNull(index)
    else {
      val array = row.getArray(ordinal)
      val size = array.numElements()
      val first = list.startNewValue(index)
      while (values.getValueCapacity < first + size) values.reAlloc()
      array match {
        case unsafe: UnsafeArrayData if !hasNulls(unsafe) => copy(unsafe, first, size)
        case other => (0 until size).foreach(i => writeElement(other, i, first + i))
      }
      list.endValue(index, size)
    }

  private def copy(array: UnsafeArrayData, first: Int, size: Int): Unit = {
    Platform.copyMemory(
      array.getBaseObject,
      array.getBaseOffset + UnsafeArrayData.calculateHeaderPortionInBytes(size),
      ArrowColumn.OffHeap,
      values.getDataBuffer.memoryAddress() + first * width,
      size * width)
    markPresent(first, size)
  }

  /** Whole bytes of the validity bitmap at once, single bits at both ends. */
  private def markPresent(first: Int, size: Int): Unit = {
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

  private def hasNulls(array: UnsafeArrayData): Boolean = {
    // The header is the element count and then one bit per element, in whole words.
    val words = (UnsafeArrayData.calculateHeaderPortionInBytes(array.numElements()) - 8) / 8
    (1 to words).exists { word =>
      Platform.getLong(array.getBaseObject, array.getBaseOffset + 8L * word) != 0L
    }
  }

  private def writeElement(array: ArrayData, i: Int, index: Int): Unit =
    if (array.isNullAt(i)) values.setNull(index)
    else {
      val address = values.getDataBuffer.memoryAddress() + index * width
      element match {
        case ByteType => Platform.putByte(ArrowColumn.OffHeap, address, array.getByte(i))
        case ShortType => Platform.putShort(ArrowColumn.OffHeap, address, array.getShort(i))
        case IntegerType => Platform.putInt(ArrowColumn.OffHeap, address, array.getInt(i))
        case LongType => Platform.putLong(ArrowColumn.OffHeap, address, array.getLong(i))
        case FloatType => Platform.putFloat(ArrowColumn.OffHeap, address, array.getFloat(i))
        case DoubleType => Platform.putDouble(ArrowColumn.OffHeap, address, array.getDouble(i))
        case other => throw new InternalError(s"Array of a type without a writer: ${other.sql}")
      }
      BitVectorHelper.setBit(values.getValidityBuffer, index.toLong)
    }
}
