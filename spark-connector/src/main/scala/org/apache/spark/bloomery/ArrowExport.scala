package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.c.{ArrowArray, ArrowSchema, Data}
import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.dictionary.DictionaryProvider
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructField, StructType}

import io.bloomery.Images

/**
 * Hands columns of Spark's rows to the engine through Arrow's C data interface, a batch at a time.
 * `columns` pairs each field with its place in the rows; a struct that is no image stands for its
 * fields, which is how several columns come as one. The engine consumes what it is given; what it
 * did not take, because it failed, is released here.
 */
private[spark] final class ArrowExport(
    columns: Seq[(StructField, Int)],
    rowsPerBatch: Int,
    allocator: BufferAllocator) {

  private val fields: Seq[ExportedField] = columns.flatMap {
    case (StructField(_, struct @ StructType(inner), _, _), ordinal) if !Images.isImage(struct) =>
      inner.toSeq.zipWithIndex.map { case (field, i) => InStruct(field, ordinal, i, inner.length) }
    case (field, ordinal) => Seq(InRow(field, ordinal))
  }
  private val schema =
    new Schema(fields.map(each => ArrowColumn.field(each.field.name, each.field.dataType)).asJava)
  private val room = new ArrowRoom(rowsPerBatch)
  private val noDictionaries = new DictionaryProvider.MapDictionaryProvider()

  /** Exports the schema; `consume` gets the address of a C ArrowSchema. */
  def withSchema[T](consume: Long => T): T =
    Using.resource(ArrowSchema.allocateNew(allocator)) { exported =>
      Data.exportSchema(allocator, schema, noDictionaries, exported)
      try consume(exported.memoryAddress())
      finally exported.release()
    }

  /** Writes the next rows; `consume` gets the address of a C ArrowArray and the row count. */
  def withBatch[T](rows: Iterator[InternalRow])(consume: (Long, Int) => T): T =
    // Fresh vectors for every batch: the engine may hold the buffers of the last one.
    Using.resource(VectorSchemaRoot.create(schema, allocator)) { root =>
      val count = fill(root, rows)
      Using.resource(ArrowArray.allocateNew(allocator)) { exported =>
        Data.exportVectorSchemaRoot(allocator, root, noDictionaries, exported)
        try consume(exported.memoryAddress(), count)
        finally exported.release()
      }
    }

  private def fill(root: VectorSchemaRoot, rows: Iterator[InternalRow]): Int = {
    val vectors = root.getFieldVectors.asScala.toSeq
    room.allocate(vectors)
    val exported = fields.toArray
    val writers = exported.zip(vectors).map { case (each, vector) => ArrowColumn.writer(vector, each.field.dataType) }
    var count = 0
    while (count < rowsPerBatch && rows.hasNext) {
      val row = rows.next()
      var i = 0
      while (i < exported.length) {
        exported(i).write(row, writers(i), count)
        i += 1
      }
      count += 1
    }
    root.setRowCount(count)
    room.learn(vectors)
    count
  }
}

/** Where a field of the export stands in Spark's rows. */
private[bloomery] sealed trait ExportedField {
  def field: StructField
  def write(row: InternalRow, column: ArrowColumn, index: Int): Unit
}

private[bloomery] final case class InRow(field: StructField, ordinal: Int) extends ExportedField {
  override def write(row: InternalRow, column: ArrowColumn, index: Int): Unit =
    column.write(row, ordinal, index)
}

private[bloomery] final case class InStruct(field: StructField, struct: Int, ordinal: Int, numFields: Int)
    extends ExportedField {
  override def write(row: InternalRow, column: ArrowColumn, index: Int): Unit =
    column.write(row.getStruct(struct, numFields), ordinal, index)
}

private[spark] object ArrowExport {
  private val BatchBytes = 2L << 20
  private val MaxRows = 1 << 14

  /** Batches of about two megabytes: small enough to overlap, large enough to hide the crossing. */
  def rowsPerBatch(rowBytes: Long): Int =
    math.min(MaxRows.toLong, math.max(1L, BatchBytes / math.max(1L, rowBytes))).toInt
}
