package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector._
import org.apache.arrow.vector.complex.{ListVector, StructVector}
import org.apache.arrow.vector.types.{DateUnit, FloatingPointPrecision, TimeUnit}
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType}
import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, UnsafeArrayData, UnsafeRow}
import org.apache.spark.sql.types._

import io.bloomery.InternalError

/** Writes one field of Spark's rows, of their structs or of their arrays into one Arrow vector. */
private[bloomery] trait ArrowColumn {

  /** What stands at `ordinal` goes to place `index` of the vector. */
  def write(from: SpecializedGetters, ordinal: Int, index: Int): Unit
}

private[bloomery] object ArrowColumn {

  /** The Arrow field of a column, for the types that the driver lets through. */
  def field(name: String, dataType: DataType): Field = dataType match {
    case udt: UserDefinedType[_] => field(name, udt.sqlType)
    case ArrayType(BooleanType, _) => nested(name, ArrowType.List.INSTANCE, leaf("element", Byte8))
    case ArrayType(element, _) => nested(name, ArrowType.List.INSTANCE, field("element", element))
    case StructType(fields) =>
      nested(name, ArrowType.Struct.INSTANCE, fields.toSeq.map(each => field(each.name, each.dataType)): _*)
    case other => leaf(name, arrowType(other))
  }

  /** The writer of values of this type into a vector of the matching one. */
  def writer(vector: FieldVector, dataType: DataType): ArrowColumn = (vector, dataType) match {
    case (_, udt: UserDefinedType[_]) => writer(vector, udt.sqlType)
    case (list: ListVector, ArrayType(element, _)) => new ArrowListColumn(list, element)
    case (struct: StructVector, StructType(fields)) => new StructColumn(struct, fields)
    case (bytes: BaseVariableWidthVector, _) => new BytesColumn(bytes)
    case _ => new ScalarColumn(vector, scalar(vector))
  }

  /** Booleans of an array, which lie in memory as bytes. */
  private val Byte8 = new ArrowType.Int(8, false)

  private def leaf(name: String, arrow: ArrowType): Field = nested(name, arrow)

  private def nested(name: String, arrow: ArrowType, children: Field*): Field =
    new Field(name, FieldType.nullable(arrow), children.asJava)

  private def arrowType(dataType: DataType): ArrowType = dataType match {
    case BooleanType => ArrowType.Bool.INSTANCE
    case ByteType => new ArrowType.Int(8, true)
    case ShortType => new ArrowType.Int(16, true)
    case IntegerType => new ArrowType.Int(32, true)
    case LongType => new ArrowType.Int(64, true)
    case FloatType => new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE)
    case DoubleType => new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)
    case DateType => new ArrowType.Date(DateUnit.DAY)
    case TimestampType | TimestampNTZType => new ArrowType.Timestamp(TimeUnit.MICROSECOND, null)
    case BinaryType => ArrowType.Binary.INSTANCE
    case _: StringType => ArrowType.Utf8.INSTANCE
    case other => throw new InternalError(s"Column of a type without a writer: ${other.sql}")
  }

  /** Of a value that is not null. */
  private def scalar(vector: FieldVector): ArrowColumn = vector match {
    case v: BitVector => (from, ordinal, index) => v.setSafe(index, if (from.getBoolean(ordinal)) 1 else 0)
    case v: UInt1Vector => (from, ordinal, index) => v.setSafe(index, if (from.getBoolean(ordinal)) 1 else 0)
    case v: TinyIntVector => (from, ordinal, index) => v.setSafe(index, from.getByte(ordinal))
    case v: SmallIntVector => (from, ordinal, index) => v.setSafe(index, from.getShort(ordinal))
    case v: IntVector => (from, ordinal, index) => v.setSafe(index, from.getInt(ordinal))
    case v: DateDayVector => (from, ordinal, index) => v.setSafe(index, from.getInt(ordinal))
    case v: BigIntVector => (from, ordinal, index) => v.setSafe(index, from.getLong(ordinal))
    case v: TimeStampMicroVector => (from, ordinal, index) => v.setSafe(index, from.getLong(ordinal))
    case v: Float4Vector => (from, ordinal, index) => v.setSafe(index, from.getFloat(ordinal))
    case v: Float8Vector => (from, ordinal, index) => v.setSafe(index, from.getDouble(ordinal))
    case v => throw new InternalError(s"Arrow vector without a writer: ${v.getField}")
  }

  private final class ScalarColumn(vector: FieldVector, present: ArrowColumn) extends ArrowColumn {
    override def write(from: SpecializedGetters, ordinal: Int, index: Int): Unit =
      if (from.isNullAt(ordinal)) vector.setNull(index) else present.write(from, ordinal, index)
  }

  /**
   * Binaries and texts, straight out of the row's memory: `getBinary` would make an array for every
   * row.
   */
  private final class BytesColumn(vector: BaseVariableWidthVector) extends ArrowColumn {
    override def write(from: SpecializedGetters, ordinal: Int, index: Int): Unit =
      if (from.isNullAt(ordinal)) vector.setNull(index)
      else
        from match {
          case row: UnsafeRow => copy(row.getBaseObject, row.getBaseOffset, row.getLong(ordinal), index)
          case array: UnsafeArrayData =>
            copy(array.getBaseObject, array.getBaseOffset, array.getLong(ordinal), index)
          case other => vector.setSafe(index, bytesOf(other, ordinal))
        }

    private def copy(base: AnyRef, baseOffset: Long, offsetAndSize: Long, index: Int): Unit =
      RawCopy.bytes(base, baseOffset + (offsetAndSize >> 32), offsetAndSize.toInt, vector, index)

    private def bytesOf(from: SpecializedGetters, ordinal: Int): Array[Byte] = vector match {
      case _: VarCharVector => from.getUTF8String(ordinal).getBytes
      case _ => from.getBinary(ordinal)
    }
  }

  /** Structs: ML vectors and images are such. */
  private final class StructColumn(vector: StructVector, fields: Array[StructField]) extends ArrowColumn {
    private val columns = fields.zip(vector.getChildrenFromFields.asScala).map { case (field, child) =>
      writer(child, field.dataType)
    }

    override def write(from: SpecializedGetters, ordinal: Int, index: Int): Unit =
      if (from.isNullAt(ordinal)) vector.setNull(index)
      else {
        val struct = from.getStruct(ordinal, columns.length)
        columns.indices.foreach(i => columns(i).write(struct, i, index))
        vector.setIndexDefined(index)
      }
  }

  /** Spark's way to say that an address is not relative to an object. */
  private[bloomery] val OffHeap: AnyRef = null
}
