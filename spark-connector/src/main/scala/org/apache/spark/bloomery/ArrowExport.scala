package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.c.{ArrowArray, ArrowSchema, Data}
import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{FieldVector, VectorSchemaRoot}
import org.apache.arrow.vector.dictionary.DictionaryProvider
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.bloomery.{Images, InternalError}

/**
 * Hands columns of Spark's rows or columnar batches to the engine through Arrow's C data interface, a batch at a time.
 * `columns` pairs each field with its place there; a struct that is no image stands for its
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
  private val sizes = new ArrowRoom
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
    withVectors(rowsPerBatch)(write(rows, _))(consume)

  /** Copies so many rows of a columnar batch, at most those of one of ours. */
  def withSlice[T](batch: ColumnarBatch, first: Int, count: Int)(consume: (Long, Int) => T): T =
    withVectors(count) { vectors =>
      copy(batch, first, count, vectors)
      count
    }(consume)

  /** `fill` gets room for so many rows, and says how many it filled. */
  private def withVectors[T](room: Int)(fill: Seq[FieldVector] => Int)(consume: (Long, Int) => T): T =
    // Fresh vectors for every batch: the engine may hold the buffers of the last one.
    Using.resource(VectorSchemaRoot.create(schema, allocator)) { root =>
      val vectors = root.getFieldVectors.asScala.toSeq
      sizes.allocate(vectors, room)
      val count = fill(vectors)
      root.setRowCount(count)
      sizes.learn(vectors)
      Using.resource(ArrowArray.allocateNew(allocator)) { exported =>
        Data.exportVectorSchemaRoot(allocator, root, noDictionaries, exported)
        try consume(exported.memoryAddress(), count)
        finally exported.release()
      }
    }

  private def write(rows: Iterator[InternalRow], vectors: Seq[FieldVector]): Int = {
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
    count
  }

  private def copy(batch: ColumnarBatch, first: Int, count: Int, vectors: Seq[FieldVector]): Unit =
    fields.zip(vectors).foreach {
      case (InRow(field, ordinal), vector) =>
        BatchColumn.of(vector, field.dataType).copy(batch.column(ordinal), first, count, 0)
      case (InStruct(field, _, _, _), _) =>
        throw new InternalError(s"Field of a struct in a columnar batch: ${field.name}")
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
