package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.c.{ArrowArray, ArrowSchema, CDataDictionaryProvider, Data}
import org.apache.arrow.memory.BufferAllocator
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What crosses to the engine, exported and imported again, a text per row. */
object ExportedTexts {

  def ofRows(schema: StructType, rows: Iterator[InternalRow], rowsPerBatch: Int): Seq[String] =
    withExport(schema.zipWithIndex, rowsPerBatch) { (batches, texts) =>
      Iterator.continually(rows).takeWhile(_.hasNext).flatMap { rows =>
        batches.withBatch(rows) { (array, count) =>
          assert(count > 0 && count <= rowsPerBatch)
          texts(array, count)
        }
      }.toList
    }

  def ofBatches(
      schema: StructType,
      ordinals: Seq[Int],
      batches: Iterator[ColumnarBatch],
      rowsPerSlice: Int): Seq[String] =
    withExport(schema.zip(ordinals), rowsPerSlice) { (slices, texts) =>
      batches.flatMap { batch =>
        (0 until batch.numRows() by rowsPerSlice).flatMap { first =>
          slices.withSlice(batch, first, math.min(rowsPerSlice, batch.numRows() - first))(texts)
        }
      }.toList
    }

  private def withExport[T](columns: Seq[(StructField, Int)], rows: Int)(
      body: (ArrowExport, (Long, Int) => Seq[String]) => T): T =
    Using.resource(ArrowMemory.child("test")) { allocator =>
      val exported = new ArrowExport(columns, rows, allocator)
      body(exported, (array, count) => exported.withSchema(imported(_, array, count, allocator)))
    }

  private def imported(schema: Long, array: Long, count: Int, allocator: BufferAllocator): Seq[String] =
    Using.resource(new CDataDictionaryProvider) { dictionaries =>
      Using.resource(
        Data.importVectorSchemaRoot(allocator, ArrowArray.wrap(array), ArrowSchema.wrap(schema), dictionaries)) {
        root =>
          (0 until count).map { row =>
            root.getFieldVectors.asScala.map(vector => text(vector.getObject(row))).mkString(" ")
          }
      }
    }

  private def text(value: Any): String = value match {
    case bytes: Array[Byte] => bytes.mkString("#", "-", "")
    case other => String.valueOf(other)
  }
}
