package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector._
import org.apache.arrow.vector.complex.ListVector
import org.apache.arrow.vector.types.FloatingPointPrecision
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import io.bloomery.InternalError

/** Writes one field of Spark's rows into one Arrow vector. */
private[bloomery] trait ArrowColumn {
  def write(row: InternalRow, index: Int): Unit
}

private[bloomery] object ArrowColumn {

  /** The Arrow field of a column, for the types that the driver lets through. */
  def field(column: StructField): Field = column.dataType match {
    case ArrayType(element, _) =>
      val child = field(StructField("element", element))
      new Field(column.name, FieldType.nullable(ArrowType.List.INSTANCE), List(child).asJava)
    case dataType =>
      new Field(column.name, FieldType.nullable(arrowType(dataType)), List.empty[Field].asJava)
  }

  /** The writer of the row's field `ordinal` into a vector of the matching type. */
  def writer(vector: FieldVector, dataType: DataType, ordinal: Int): ArrowColumn =
    (vector, dataType) match {
      case (list: ListVector, ArrayType(element, _)) => new ArrowListColumn(list, element, ordinal)
      case (binary: VarBinaryVector, _) => new BinaryColumn(binary, ordinal)
      case _ => new ScalarColumn(vector, ordinal)
    }

  private def arrowType(dataType: DataType): ArrowType = dataType match {
    case BooleanType => ArrowType.Bool.INSTANCE
    case ByteType => new ArrowType.Int(8, true)
    case ShortType => new ArrowType.Int(16, true)
    case IntegerType => new ArrowType.Int(32, true)
    case LongType => new ArrowType.Int(64, true)
    case FloatType => new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE)
    case DoubleType => new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)
    case BinaryType => ArrowType.Binary.INSTANCE
    case other => throw new InternalError(s"Column of a type without a writer: ${other.sql}")
  }

  private final class ScalarColumn(vector: FieldVector, ordinal: Int) extends ArrowColumn {
    override def write(row: InternalRow, index: Int): Unit =
      if (row.isNullAt(ordinal)) vector.setNull(index)
      else
        vector match {
          case v: BitVector => v.setSafe(index, if (row.getBoolean(ordinal)) 1 else 0)
          case v: TinyIntVector => v.setSafe(index, row.getByte(ordinal))
          case v: SmallIntVector => v.setSafe(index, row.getShort(ordinal))
          case v: IntVector => v.setSafe(index, row.getInt(ordinal))
          case v: BigIntVector => v.setSafe(index, row.getLong(ordinal))
          case v: Float4Vector => v.setSafe(index, row.getFloat(ordinal))
          case v: Float8Vector => v.setSafe(index, row.getDouble(ordinal))
          case v => throw new InternalError(s"Arrow vector without a writer: ${v.getField}")
        }
  }

  /** Copies straight out of the row's memory: `getBinary` would make an array for every row. */
  private final class BinaryColumn(vector: VarBinaryVector, ordinal: Int) extends ArrowColumn {
    override def write(row: InternalRow, index: Int): Unit =
      if (row.isNullAt(ordinal)) vector.setNull(index)
      else
        row match {
          case unsafe: UnsafeRow =>
            val offsetAndSize = unsafe.getLong(ordinal)
            val size = offsetAndSize.toInt
            vector.setValueLengthSafe(index, size)
            BitVectorHelper.setBit(vector.getValidityBuffer, index.toLong)
            Platform.copyMemory(
              unsafe.getBaseObject,
              unsafe.getBaseOffset + (offsetAndSize >> 32),
              OffHeap,
              vector.getDataBuffer.memoryAddress() + vector.getStartOffset(index),
              size.toLong)
          case other => vector.setSafe(index, other.getBinary(ordinal))
        }
  }

  /** Spark's way to say that an address is not relative to an object. */
  private[bloomery] val OffHeap: AnyRef = null
}
