package org.apache.spark.bloomery

import org.apache.arrow.vector.{BaseFixedWidthVector, BitVector}
import org.apache.arrow.vector.complex.ListVector
import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, UnsafeArrayData}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.Platform

/**
 * Writes arrays into a list vector. Spark's own arrays of values of a fixed width lie in memory as
 * Arrow wants them and are copied in one piece; any other kind, or one with nulls, goes element by
 * element.
 */
private[bloomery] final class ArrowListColumn(list: ListVector, element: DataType) extends ArrowColumn {

  private val elements = ArrowColumn.writer(list.getDataVector, element)
  private val fixedWidth: Option[BaseFixedWidthVector] = list.getDataVector match {
    case _: BitVector => None
    case fixed: BaseFixedWidthVector => Some(fixed)
    case _ => None
  }

  override def write(from: SpecializedGetters, ordinal: Int, index: Int): Unit =
    if (from.isNullAt(ordinal)) list.setNull(index)
    else {
      val array = from.getArray(ordinal)
      val size = array.numElements()
      val first = list.startNewValue(index)
      (array, fixedWidth) match {
        case (unsafe: UnsafeArrayData, Some(values)) if !hasNulls(unsafe) => copy(unsafe, values, first, size)
        case _ => (0 until size).foreach(i => elements.write(array, i, first + i))
      }
      list.endValue(index, size)
    }

  private def copy(array: UnsafeArrayData, values: BaseFixedWidthVector, first: Int, size: Int): Unit =
    RawCopy.values(
      array.getBaseObject,
      array.getBaseOffset + UnsafeArrayData.calculateHeaderPortionInBytes(size),
      values,
      first,
      size)

  private def hasNulls(array: UnsafeArrayData): Boolean = {
    // The header is the element count and then one bit per element, in whole words.
    val words = (UnsafeArrayData.calculateHeaderPortionInBytes(array.numElements()) - 8) / 8
    (1 to words).exists { word =>
      Platform.getLong(array.getBaseObject, array.getBaseOffset + 8L * word) != 0L
    }
  }
}
