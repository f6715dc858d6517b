package org.apache.spark.bloomery

import org.apache.arrow.vector.{BaseFixedWidthVector, BaseVariableWidthVector, BitVector, FieldVector}
import org.apache.arrow.vector.complex.ListVector
import org.apache.spark.sql.execution.vectorized.{OffHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarArray, ColumnVector}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import io.bloomery.InternalError

/**
 * Copies a column of Spark's columnar batches into one Arrow vector, many values at once. Only what every kind of
 * column promises is asked for, since the next batch may have another: on the heap or beside it, constant, or of places
 * in a dictionary, whose memory holds no values.
 */
private[bloomery] trait BatchColumn {

  /** Values `first` and behind, so many, go to the vector from place `at` on. */
  def copy(from: ColumnVector, first: Int, count: Int, at: Int): Unit
}

private[bloomery] object BatchColumn {

  /** For values of this type and a vector of the matching one. */
  def of(vector: FieldVector, dataType: DataType): BatchColumn = (vector, dataType) match {
    case (_, udt: UserDefinedType[_]) => of(vector, udt.sqlType)
    case (list: ListVector, ArrayType(element, _)) => new Lists(list, dataType, of(list.getDataVector, element))
    case (bytes: BaseVariableWidthVector, _) => new Bytes(bytes, dataType)
    // Bits are not bytes, and the fields of structs need not stand where their structs do.
    case (_: BitVector, _) | (_, _: StructType) => new OneByOne(vector, dataType)
    case (values: BaseFixedWidthVector, _) => new Values(values, dataType)
    case _ => throw new InternalError(s"Arrow vector without a way to fill it: ${vector.getField}")
  }

  private final class OneByOne(vector: FieldVector, dataType: DataType) extends BatchColumn {
    private val writer = ArrowColumn.writer(vector, dataType)

    override def copy(from: ColumnVector, first: Int, count: Int, at: Int): Unit = {
      val values = new ColumnarArray(from, first, count)
      var i = 0
      while (i < count) {
        writer.write(values, i, at + i)
        i += 1
      }
    }
  }

  /** Values of a fixed width. */
  private final class Values(vector: BaseFixedWidthVector, dataType: DataType) extends BatchColumn {
    private val oneByOne = new OneByOne(vector, dataType)

    override def copy(from: ColumnVector, first: Int, count: Int, at: Int): Unit = from match {
      // What stands in the place of a null may be no value at all.
      case _ if from.hasNull => oneByOne.copy(from, first, count, at)
      case plain: OffHeapColumnVector if !plain.hasDictionary =>
        val offset = plain.valuesNativeAddress() + first.toLong * vector.getTypeWidth
        RawCopy.values(ArrowColumn.OffHeap, offset, vector, at, count)
      case _ =>
        // A piece stays in the processor's cache on its way.
        (0 until count by PieceValues).foreach { start =>
          val size = math.min(PieceValues, count - start)
          val (array, offset) = read(from, first + start, size)
          RawCopy.values(array, offset, vector, at + start, size)
        }
    }

    /** Spark's own bulk reads, which decode where it has to be. */
    private def read(from: ColumnVector, first: Int, count: Int): (AnyRef, Long) = {
      def at(array: AnyRef, offset: Int): (AnyRef, Long) = (array, offset.toLong)
      dataType match {
        case BooleanType => at(from.getBooleans(first, count), Platform.BOOLEAN_ARRAY_OFFSET)
        case ByteType => at(from.getBytes(first, count), Platform.BYTE_ARRAY_OFFSET)
        case ShortType => at(from.getShorts(first, count), Platform.SHORT_ARRAY_OFFSET)
        case IntegerType | DateType => at(from.getInts(first, count), Platform.INT_ARRAY_OFFSET)
        case LongType | TimestampType | TimestampNTZType =>
          at(from.getLongs(first, count), Platform.LONG_ARRAY_OFFSET)
        case FloatType => at(from.getFloats(first, count), Platform.FLOAT_ARRAY_OFFSET)
        case DoubleType => at(from.getDoubles(first, count), Platform.DOUBLE_ARRAY_OFFSET)
        case other => throw new InternalError(s"Column of a type without a bulk read: ${other.sql}")
      }
    }
  }

  /** Binaries and texts. */
  private final class Bytes(vector: BaseVariableWidthVector, dataType: DataType) extends BatchColumn {
    override def copy(from: ColumnVector, first: Int, count: Int, at: Int): Unit = {
      var i = 0
      while (i < count) {
        if (from.isNullAt(first + i)) vector.setNull(at + i)
        else {
          val bytes = view(from, first + i)
          RawCopy.bytes(bytes.getBaseObject, bytes.getBaseOffset, bytes.numBytes(), vector, at + i)
        }
        i += 1
      }
    }

    private def view(from: ColumnVector, row: Int): UTF8String = (from, dataType) match {
      // Binaries as texts, too, because these are a look at the column's memory and not a copy of it.
      case (_: WritableColumnVector, _) | (_, _: StringType) => from.getUTF8String(row)
      case _ => UTF8String.fromBytes(from.getBinary(row))
    }
  }

  /** Arrays: those whose values follow each other in the column are copied together. */
  private final class Lists(list: ListVector, dataType: DataType, elements: BatchColumn) extends BatchColumn {
    private val oneByOne = new OneByOne(list, dataType)

    override def copy(from: ColumnVector, first: Int, count: Int, at: Int): Unit = from match {
      case arrays: WritableColumnVector =>
        var i = 0
        while (i < count) {
          if (arrays.isNullAt(first + i)) {
            list.setNull(at + i)
            i += 1
          } else i += copyRun(arrays, first + i, count - i, at + i)
        }
      case other => oneByOne.copy(other, first, count, at)
    }

    /** How many arrays it was. */
    private def copyRun(arrays: WritableColumnVector, first: Int, most: Int, at: Int): Int = {
      val start = arrays.getArrayOffset(first)
      val place = list.startNewValue(at)
      var end = start
      var i = 0
      while (i < most && !arrays.isNullAt(first + i) && arrays.getArrayOffset(first + i) == end) {
        val length = arrays.getArrayLength(first + i)
        list.startNewValue(at + i)
        list.endValue(at + i, length)
        end += length
        i += 1
      }
      elements.copy(arrays.getChild(0), start, end - start, place)
      i
    }
  }

  private val PieceValues = 1 << 13
}
