package org.apache.spark.bloomery

import scala.annotation.tailrec
import scala.util.Using

import org.apache.spark.{BarrierTaskContext, InterruptibleIterator}
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.bloomery.engine.NativeTrainer

/**
 * The columns, and the place of each in a batch. `files` is empty where a row is known by its place in its partition;
 * else the last two of `ordinals` are those of its file's path and of its place in the file.
 */
private[bloomery] final case class ColumnarSpec(
    columns: StructType,
    ordinals: Seq[Int],
    rowsPerBatch: Int,
    files: Map[String, Int])

/** Spark's columnar batches, copied column by column before the next one takes their memory. */
private[bloomery] final class ColumnarFeed(spec: ColumnarSpec, partitions: Iterator[(Int, Iterator[ColumnarBatch])])
    extends Feed {
  private val files = new FileNumbers(spec.files)

  override def into(trainer: NativeTrainer, context: BarrierTaskContext, reporter: Reporter): Unit =
    Using.resource(ArrowMemory.child(s"train-${context.taskAttemptId()}")) { allocator =>
      val slices = new ArrowExport(spec.columns.zip(spec.ordinals), spec.rowsPerBatch, allocator)
      slices.withSchema(trainer.ingestSchema)
      partitions.foreach { case (partition, batches) =>
        var before = 0L
        new InterruptibleIterator(context, batches).foreach { batch =>
          val places = placesIn(batch, partition, before)
          var first = 0
          while (first < batch.numRows()) {
            val count = places.run(first, math.min(batch.numRows(), first + spec.rowsPerBatch))
            slices.withSlice(batch, first, count) { (array, _) =>
              val source = places.source(first)
              files.naming(source)(trainer.ingest(array, source, places.row(first)))
            }
            first += count
            reporter.pollIfDue()
          }
          before += batch.numRows()
        }
      }
    }

  private def placesIn(batch: ColumnarBatch, partition: Int, before: Long): BatchPlaces =
    if (spec.files.isEmpty) new BatchInPartition(partition, before)
    else {
      val path = spec.columns.length
      new BatchInFiles(batch, spec.ordinals(path), spec.ordinals(path + 1), files)
    }
}

/** Where the rows of a batch come from: which source, and their numbers there. */
private[bloomery] trait BatchPlaces {
  def source(i: Int): Int
  def row(i: Int): Long

  /** How many rows from `first` on, but before `end`, follow each other in one source. */
  def run(first: Int, end: Int): Int
}

private[bloomery] final class BatchInPartition(partition: Int, before: Long) extends BatchPlaces {
  override def source(i: Int): Int = partition
  override def row(i: Int): Long = before + i
  override def run(first: Int, end: Int): Int = end - first
}

private[bloomery] final class BatchInFiles(batch: ColumnarBatch, pathOrdinal: Int, rowOrdinal: Int, files: FileNumbers)
    extends BatchPlaces {
  private val paths = batch.column(pathOrdinal)
  private val rows = batch.column(rowOrdinal).getLongs(0, batch.numRows())
  private val isOneFile = paths.isInstanceOf[ConstantColumnVector]

  override def source(i: Int): Int = files.of(paths.getUTF8String(i))
  override def row(i: Int): Long = rows(i)

  override def run(first: Int, end: Int): Int = {
    @tailrec
    def grow(i: Int): Int =
      if (i < end && rows(i) == rows(first) + (i - first) && (isOneFile || source(i) == source(first))) grow(i + 1)
      else i - first
    grow(first + 1)
  }
}
