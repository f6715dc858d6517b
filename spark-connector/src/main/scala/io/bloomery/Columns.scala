package io.bloomery

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.ml.attribute.{Attribute, BinaryAttribute, NominalAttribute}
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{col, struct}
import org.apache.spark.sql.types._
import scala.jdk.CollectionConverters._

/**
 * The columns of a DataFrame as the engine takes them, or the sentence that says why not. Only
 * the schema is looked at, so that a mistake shows before any job.
 */
private[bloomery] object Columns {

  /** One column of the network's input, as the engine takes it. */
  def features(schema: StructType, column: FeatureColumn): Column = {
    val field = find(schema, column.param, column.name)
    if (!isFeature(field.dataType, column.isCategory)) {
      val wanted =
        if (column.isCategory) "texts and whole numbers, or arrays of them"
        else "a number, a boolean, a date, a timestamp, an array of them, an ML vector, binary or an image"
      throw wrongType(column.param, wanted + categoriesInstead(column, field.dataType), column.name, field.dataType)
    }
    withoutDecimals(field)
  }

  /** How texts become features. */
  private def categoriesInstead(column: FeatureColumn, found: DataType): String = found match {
    case _: StringType | ArrayType(_: StringType, _) if !column.isCategory =>
      val instead = if (column.param == "featuresCol") " in featuresCols" else ""
      s""", or texts as {"column": "${column.name}", "vocabulary": "learn"} or with hashBuckets$instead"""
    case _ => ""
  }

  /** All columns of the network's input as one: the column itself, or a struct of several. */
  def features(schema: StructType, columns: Seq[FeatureColumn]): Column =
    columns.map(column => column.name -> features(schema, column)).distinctBy(_._1).map(_._2) match {
      case Seq(one) if columns.length == 1 => one
      case several => struct(several: _*)
    }

  /** Class indices, or texts where a vocabulary tells their classes; values where `takesValues`. */
  def label(schema: StructType, label: LabelColumn, takesValues: Boolean): Column = {
    val field = find(schema, label.param, label.name)
    val hasVocabulary = label.words.isDefined
    field.dataType match {
      case BooleanType if !hasVocabulary => reference(label.name)
      case _: NumericType => withoutDecimals(field)
      case _: StringType if hasVocabulary => reference(label.name)
      case other if takesValues && !hasVocabulary && isTarget(other) => withoutDecimals(field)
      case other =>
        val wanted = if (takesValues) "a number, an array of numbers or an ML vector" else "a number"
        throw wrongType(label.param, wanted + wordsInstead(label, other, takesValues), label.name, other)
    }
  }

  /** How texts become classes. */
  private def wordsInstead(label: LabelColumn, found: DataType, takesValues: Boolean): String = found match {
    case _: StringType if !takesValues => ", so index texts with StringIndexer or list them in labelVocabulary"
    case _: StringType if label.param == "labelCols" =>
      s""", or texts of classes as {"column": "${label.name}", "vocabulary": [...]} in NeuralNetEstimator"""
    case _ => ""
  }

  /** The label that each class index stands for, where the column's ML attribute tells it, as StringIndexer leaves it. */
  def classLabels(schema: StructType, name: String): Option[Seq[String]] =
    schema.find(field => field.name == name && field.dataType.isInstanceOf[NumericType]).flatMap { field =>
      Attribute.fromStructField(field) match {
        case nominal: NominalAttribute => nominal.values.map(_.toSeq)
        case binary: BinaryAttribute => binary.values.map(_.toSeq)
        case _ => None
      }
    }

  /** Refuses a name in a param's JSON that no input or output of the network has. */
  def checkNames(param: String, what: String, named: Option[ObjectNode], known: Seq[String]): Unit =
    named.toSeq.flatMap(_.fieldNames().asScala).filterNot(known.contains).foreach { name =>
      throw new UserError(s"Unknown $what in $param: $name${Names.hint(name, s"${what}s", known)}")
    }

  /** A number of any type. */
  def number(schema: StructType, param: String, name: String): Column = {
    val field = find(schema, param, name)
    field.dataType match {
      case _: NumericType => withoutDecimals(field)
      case other => throw wrongType(param, "a number", name, other)
    }
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

  private def isFeature(dataType: DataType, isCategory: Boolean): Boolean = dataType match {
    case ArrayType(element, _) => isFeature(element, isCategory) && !isWhole(element)
    case _: StringType => isCategory
    case ByteType | ShortType | IntegerType | LongType => true
    case _ if isCategory => false
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case other => isWhole(other)
  }

  /** Several values at once. */
  private def isTarget(dataType: DataType): Boolean = dataType match {
    case ArrayType(element, _) => isTarget(element)
    case _: NumericType | BooleanType => true
    case other => other == VectorType
  }

  /** What is all features of a row by itself, and so cannot stand in an array. */
  private def isWhole(dataType: DataType): Boolean =
    dataType == BinaryType || dataType == VectorType || Images.isImage(dataType)

  /** Decimals as doubles, wherever they stand. */
  private def withoutDecimals(field: StructField): Column = {
    def doubles(dataType: DataType): DataType = dataType match {
      case _: DecimalType => DoubleType
      case ArrayType(element, hasNulls) => ArrayType(doubles(element), hasNulls)
      case other => other
    }
    val wanted = doubles(field.dataType)
    if (wanted == field.dataType) reference(field.name) else reference(field.name).cast(wanted).as(field.name)
  }

  private def find(schema: StructType, param: String, name: String): StructField =
    schema.find(_.name == name).getOrElse {
      throw new UserError(
        s"$param names a column that is not there: $name${Names.hint(name, "columns", schema.fieldNames.toSeq)}")
    }

  private def wrongType(param: String, wanted: String, name: String, found: DataType): UserError =
    new UserError(
      s"$param names a column of the wrong type; it takes $wanted: column $name, type ${found.sql}")

  /** Backticks, because a dot would mean a field of a struct. */
  private def reference(name: String): Column = col(s"`${name.replace("`", "``")}`")
}
