package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.c.{ArrowSchema, Data}
import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.VarCharVector
import org.apache.arrow.vector.dictionary.{Dictionary, DictionaryProvider}
import org.apache.arrow.vector.types.pojo.{ArrowType, DictionaryEncoding, Field, FieldType, Schema}
import org.apache.spark.sql.bloomery.FileColumns
import org.apache.spark.sql.types.{ArrayType, DataType}

/**
 * Schemas of columns whose texts files keep in dictionaries: they stay places in those, and no row
 * gets a text of its own. Only schemas are made here; the engine reads the words.
 */
private[bloomery] object EncodedTexts {
  private val place = new ArrowType.Int(32, true)
  private val encoding = new DictionaryEncoding(0, false, place)

  /** Columns of files as the DataFrame shows them. */
  def shown(columns: FileColumns): Seq[Field] = fields(columns, columns.shown.fieldNames.toSeq)

  /** The same under their names in the files. */
  def inFiles(columns: FileColumns): Seq[Field] = fields(columns, columns.names)

  private def fields(columns: FileColumns, names: Seq[String]): Seq[Field] =
    columns.shown.zip(columns.names).zip(names).map {
      case ((column, inFiles), name) if columns.encodedTexts(inFiles) => field(name, column.dataType)
      case ((column, _), name) => ArrowColumn.field(name, column.dataType)
    }

  /** Of texts, or of arrays of them. */
  private def field(name: String, dataType: DataType): Field = dataType match {
    case ArrayType(element, _) =>
      new Field(name, FieldType.nullable(ArrowType.List.INSTANCE), List(field("element", element)).asJava)
    case _ => new Field(name, new FieldType(true, place, encoding), List.empty[Field].asJava)
  }

  /** Exports a schema that may have such fields; `consume` gets the address of a C ArrowSchema. */
  def withSchema[T](fields: Seq[Field], allocator: BufferAllocator)(consume: Long => T): T =
    Using.resource(new VarCharVector("words", allocator)) { words =>
      val dictionaries = new DictionaryProvider.MapDictionaryProvider(new Dictionary(words, encoding))
      Using.resource(ArrowSchema.allocateNew(allocator)) { exported =>
        Data.exportSchema(allocator, new Schema(fields.asJava), dictionaries, exported)
        try consume(exported.memoryAddress())
        finally exported.release()
      }
    }
}
