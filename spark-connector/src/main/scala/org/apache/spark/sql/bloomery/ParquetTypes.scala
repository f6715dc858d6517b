package org.apache.spark.sql.bloomery

import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, CompressionCodecName}
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{dateType, decimalType, intType, stringType, timestampType}
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.types._

import io.bloomery.Images
import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** Which columns of a Parquet file the engine and Spark's reader take for the same values. */
private[spark] object ParquetTypes {

  /** Types that a column of a file can have, as the DataFrame shows it. */
  def isRead(dataType: DataType): Boolean = dataType match {
    case VectorType | BinaryType => true
    case image: StructType => Images.isImage(image) && image.forall(field => isRead(field.dataType))
    case other => isValue(other)
  }

  /** Types that a partition column can have. */
  def isConstant(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case StringType | DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  /** One value to a row. */
  def isScalar(dataType: DataType): Boolean = isConstant(dataType) || dataType.isInstanceOf[DecimalType]

  /** Decimals as doubles, wherever they stand: the engine makes them like Spark's cast. */
  def withoutDecimals(dataType: DataType): DataType = dataType match {
    case _: DecimalType => DoubleType
    case ArrayType(element, hasNulls) => ArrayType(withoutDecimals(element), hasNulls)
    case other => other
  }

  /** Whether it holds values that Spark may move between calendars. */
  def hasMoments(dataType: DataType): Boolean =
    dataType.existsRecursively(each => each == DateType || each == TimestampType)

  /** Texts, or arrays of them. */
  @tailrec
  def isText(dataType: DataType): Boolean = dataType match {
    case ArrayType(element, _) => isText(element)
    case other => other == StringType
  }

  /** Whether all values of a column chunk are places in its dictionary. */
  def isEncoded(chunk: ColumnChunkMetaData): Boolean =
    Option(chunk.getEncodingStats).exists { pages =>
      pages.hasDictionaryEncodedPages && !pages.hasNonDictionaryEncodedPages
    }

  /** Whether this column of a file holds just such values. */
  def holds(column: Type, dataType: DataType): Boolean = (dataType, column) match {
    case (VectorType, group: GroupType) => isVector(group)
    case (image: StructType, group: GroupType) => isStruct(group, image)
    case (ArrayType(element, _), group: GroupType) => isList(group, element)
    case (_, primitive: PrimitiveType) => isPrimitive(primitive, dataType)
    case _ => false
  }

  /** Compressions that the engine knows; Hadoop's old LZ4 comes in more than one shape. */
  val Codecs: Set[CompressionCodecName] = {
    import CompressionCodecName._
    Set(UNCOMPRESSED, SNAPPY, GZIP, ZSTD, LZ4_RAW)
  }

  /** What can stand in an array, arrays among it. */
  @tailrec
  private def isValue(dataType: DataType): Boolean = dataType match {
    case ArrayType(element, _) => isValue(element)
    case other => isScalar(other)
  }

  private def isPrimitive(column: PrimitiveType, dataType: DataType): Boolean = {
    val annotation = Option(column.getLogicalTypeAnnotation)
    def isPlain(or: LogicalTypeAnnotation*): Boolean = annotation.forall(or.contains)
    def isMoment(inUtc: Boolean): Boolean =
      Seq(TimeUnit.MICROS, TimeUnit.MILLIS).exists(unit => annotation.contains(timestampType(inUtc, unit)))
    !column.isRepetition(Type.Repetition.REPEATED) && ((dataType, column.getPrimitiveTypeName) match {
      case (BooleanType, BOOLEAN) | (FloatType, FLOAT) | (DoubleType, DOUBLE) => isPlain()
      case (BinaryType, BINARY | FIXED_LEN_BYTE_ARRAY) => isPlain()
      case (StringType, BINARY) => annotation.contains(stringType())
      case (ByteType, INT32) => annotation.contains(intType(8, true))
      case (ShortType, INT32) => annotation.contains(intType(16, true))
      case (IntegerType, INT32) => isPlain(intType(32, true))
      case (LongType, INT64) => isPlain(intType(64, true))
      case (DateType, INT32) => annotation.contains(dateType())
      case (TimestampType, INT64) => isMoment(inUtc = true)
      case (TimestampNTZType, INT64) => isMoment(inUtc = false)
      case (decimal: DecimalType, INT32 | INT64 | FIXED_LEN_BYTE_ARRAY) =>
        annotation.contains(decimalType(decimal.scale, decimal.precision))
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

  /** The same fields in any order. */
  private def isStruct(group: GroupType, struct: StructType): Boolean =
    !group.isRepetition(Type.Repetition.REPEATED) &&
      Option(group.getLogicalTypeAnnotation).isEmpty &&
      group.getFields.asScala.map(_.getName).sorted == struct.fieldNames.toSeq.sorted &&
      struct.forall(field => holds(group.getType(group.getFieldIndex(field.name)), field.dataType))

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
