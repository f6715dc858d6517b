package io.bloomery

import org.apache.spark.ml.functions.vector_to_array
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a DataFrame as the engine takes them, or the sentence that says why not. Only
 * the schema is looked at, so that a mistake shows before any job.
 */
private[bloomery] object Columns {

  /** Bytes, an array of numbers, an ML vector or a number. */
  def features(schema: StructType, param: String, name: String): Column = {
    val field = find(schema, param, name)
    val column = reference(name)
    field.dataType match {
      case BinaryType => column
      case VectorType => vector_to_array(column, "float32").as(name)
      case ArrayType(_: DecimalType, _) => column.cast(ArrayType(DoubleType)).as(name)
      case ArrayType(_: NumericType, _) => column
      case _: DecimalType => column.cast(DoubleType).as(name)
      case _: NumericType => column
      case other =>
        throw wrongType(param, "binary, an array of numbers, an ML vector or a number", name, other)
    }
  }

  /** A number of any type. */
  def number(schema: StructType, param: String, name: String): Column =
    find(schema, param, name).dataType match {
      case _: DecimalType => reference(name).cast(DoubleType).as(name)
      case _: NumericType => reference(name)
      case other => throw wrongType(param, "a number", name, other)
    }

  def boolean(schema: StructType, param: String, name: String): Column =
    find(schema, param, name).dataType match {
      case BooleanType => reference(name)
      case other => throw wrongType(param, "boolean", name, other)
    }

  /** Refuses an output column that is there already. */
  def absent(schema: StructType, param: String, name: String): Unit =
    if (schema.fieldNames.contains(name)) {
      throw new UserError(
        s"$param names a column that exists already; choose another name or drop it: $name")
    }

  private def find(schema: StructType, param: String, name: String): StructField =
    schema.find(_.name == name).getOrElse {
      val columns = schema.fieldNames
      val wanted = UTF8String.fromString(name.toLowerCase)
      val nearest = columns.minByOption { column =>
        wanted.levenshteinDistance(UTF8String.fromString(column.toLowerCase))
      }
      val hint = nearest.fold("")(column => s"; did you mean $column?")
      throw new UserError(
        s"$param names a column that is not there: $name$hint columns: ${columns.mkString(", ")}")
    }

  private def wrongType(param: String, wanted: String, name: String, found: DataType): UserError =
    new UserError(
      s"$param names a column of the wrong type; it takes $wanted: column $name, type ${found.sql}")

  /** Backticks, because a dot would mean a field of a struct. */
  private def reference(name: String): Column = col(s"`${name.replace("`", "``")}`")
}
