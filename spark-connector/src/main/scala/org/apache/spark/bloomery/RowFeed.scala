package org.apache.spark.bloomery

import scala.concurrent.duration._
import scala.util.Using

import org.apache.spark.{BarrierTaskContext, InterruptibleIterator}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.bloomery.engine.NativeTrainer

/**
 * The columns that rows begin with. `files` is empty where a row is known by its place in its
 * partition; else two more columns tell its file, whose number is here, and its place in that.
 */
private[bloomery] final case class RowSpec(
    columns: StructType,
    rowsPerBatch: Int,
    files: Map[String, Int])

/** Spark's own rows, in batches that never span two source partitions or two files. */
private[bloomery] final class RowFeed(spec: RowSpec, partitions: Iterator[(Int, Iterator[InternalRow])])
    extends Feed {
  private val files = new FileNumbers(spec.files)

  override def into(trainer: NativeTrainer, context: BarrierTaskContext, reporter: Reporter): Unit =
    Using.resource(ArrowMemory.child(s"train-${context.taskAttemptId()}")) { allocator =>
      val batches = new ArrowExport(spec.columns.zipWithIndex, spec.rowsPerBatch, allocator)
      batches.withSchema(trainer.ingestSchema)
      partitions.foreach { case (partition, rows) =>
        val places = placesOf(partition, new InterruptibleIterator(context, rows))
        while (places.hasNext) {
          val (source, firstRow) = (places.source, places.row)
          batches.withBatch(RowFeed.ofAWhile(places.run)) { (array, _) =>
            files.naming(source)(trainer.ingest(array, source, firstRow))
          }
          reporter.pollIfDue()
        }
      }
    }

  private def placesOf(partition: Int, rows: Iterator[InternalRow]): Places =
    if (spec.files.isEmpty) new InPartition(partition, rows)
    else new InFiles(rows.buffered, spec.columns.length, files)
}

/** Rows, and the place of the next one: which source, and its number there. */
private[bloomery] trait Places {
  def hasNext: Boolean
  def source: Int
  def row: Long

  /** The rows that follow each other from the next one on. */
  def run: Iterator[InternalRow]
}

private[bloomery] final class InPartition(partition: Int, rows: Iterator[InternalRow]) extends Places {
  private var next = 0L

  override def hasNext: Boolean = rows.hasNext
  override def source: Int = partition
  override def row: Long = next
  override val run: Iterator[InternalRow] = rows.map { row => next += 1; row }
}

private[bloomery] final class InFiles(
    rows: collection.BufferedIterator[InternalRow],
    pathOrdinal: Int,
    files: FileNumbers)
    extends Places {
  override def hasNext: Boolean = rows.hasNext
  override def source: Int = files.of(rows.head.getUTF8String(pathOrdinal))
  override def row: Long = rows.head.getLong(pathOrdinal + 1)

  override def run: Iterator[InternalRow] = new Iterator[InternalRow] {
    private val file = source
    private var expected = row

    // Every row passes here: nothing is made for it.
    override def hasNext: Boolean = rows.hasNext && row == expected && source == file
    override def next(): InternalRow = {
      expected += 1
      rows.next()
    }
  }
}

private[bloomery] object RowFeed {

  /** What comes within the time of a poll, so that slow rows do not keep the worker from reporting. */
  def ofAWhile(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val end = System.nanoTime() + TrainTask.PollMillis.millis.toNanos
    new Iterator[InternalRow] {
      // Every row passes here: a Deadline would make three objects.
      override def hasNext: Boolean = System.nanoTime() - end < 0 && rows.hasNext
      override def next(): InternalRow = rows.next()
    }
  }
}
