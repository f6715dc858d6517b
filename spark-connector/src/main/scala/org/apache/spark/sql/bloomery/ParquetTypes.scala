package org.apache.spark.sql.bloomery

import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.intType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** Which columns of a Parquet file the engine and Spark's reader take for the same values. */
private[spark] object ParquetTypes {

  /** Types that a column of a file can have, as the DataFrame shows it. */
  def isRead(dataType: DataType): Boolean = dataType match {
    case VectorType => true
    case ArrayType(element, _) => isNumber(element)
    case BinaryType => true
    case other => isConstant(other)
  }

  /** Types that a partition column can have. */
  def isConstant(dataType: DataType): Boolean = dataType == BooleanType || isNumber(dataType)

  /** Whether this column of a file holds just such values. */
  def holds(column: Type, dataType: DataType): Boolean = (dataType, column) match {
    case (VectorType, group: GroupType) => isVector(group)
    case (ArrayType(element, _), group: GroupType) => isList(group, element)
    case (_, primitive: PrimitiveType) => isPrimitive(primitive, dataType)
    case _ => false
  }

  /** Compressions that the engine knows; Hadoop's old LZ4 comes in more than one shape. */
  val Codecs: Set[CompressionCodecName] = {
    import CompressionCodecName._
    Set(UNCOMPRESSED, SNAPPY, GZIP, ZSTD, LZ4_RAW)
  }

  private def isNumber(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case _ => false
  }

  private def isPrimitive(column: PrimitiveType, dataType: DataType): Boolean = {
    val annotation = Option(column.getLogicalTypeAnnotation)
    def isPlain(or: LogicalTypeAnnotation*): Boolean = annotation.forall(or.contains)
    !column.isRepetition(Type.Repetition.REPEATED) && ((dataType, column.getPrimitiveTypeName) match {
      case (BooleanType, BOOLEAN) | (FloatType, FLOAT) | (DoubleType, DOUBLE) => isPlain()
      case (BinaryType, BINARY | FIXED_LEN_BYTE_ARRAY) => isPlain()
      case (ByteType, INT32) => annotation.contains(intType(8, true))
      case (ShortType, INT32) => annotation.contains(intType(16, true))
      case (IntegerType, INT32) => isPlain(intType(32, true))
      case (LongType, INT64) => isPlain(intType(64, true))
      case _ => false
    })
  }

  /** A list in three levels with the names that today's writers give; older shapes mean several things. */
  private def isList(group: GroupType, element: DataType): Boolean = {
    val inner = group.getFields.asScala.toSeq.collect {
      case list: GroupType if list.isRepetition(Type.Repetition.REPEATED) && list.getName == "list" =>
        list.getFields.asScala.toSeq
    }
    val isElement = inner match {
      case Seq(Seq(values)) => Set("element", "item")(values.getName) && holds(values, element)
      case _ => false
    }
    isElement && !group.isRepetition(Type.Repetition.REPEATED) &&
    Option(group.getLogicalTypeAnnotation).contains(LogicalTypeAnnotation.listType())
  }

  /** As Spark's user defined type writes it, and the engine knows it. */
  private def isVector(group: GroupType): Boolean = {
    val parts = Seq[(String, DataType)](
      "type" -> ByteType,
      "size" -> IntegerType,
      "indices" -> ArrayType(IntegerType),
      "values" -> ArrayType(DoubleType))
    val fields = group.getFields.asScala.toSeq
    fields.size == parts.size && fields.zip(parts).forall { case (field, (name, dataType)) =>
      field.getName == name && holds(field, dataType)
    }
  }
}
