package org.apache.spark.bloomery

import scala.collection.mutable
import scala.util.Using

import org.apache.spark.{BarrierTaskContext, InterruptibleIterator}
import org.apache.spark.sql.bloomery.{FileColumns, FileGroups, ParquetPart}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StructField, StructType}
import org.apache.spark.util.SerializableConfiguration

import io.bloomery.InternalError
import io.bloomery.engine.{NativePicks, NativeScan, NativeTrainer}

/**
 * The columns that the engine reads of `files`, and those that Spark's rows begin with; the path of the row's file and
 * its place there come behind. `isBare`: no row is left out, and that is what a row is known by, else its place in its
 * partition.
 */
private[bloomery] final case class PickedSpec(
    fileColumns: FileColumns,
    ownColumns: StructType,
    rowsPerBatch: Int,
    files: Seq[FileGroups],
    isBare: Boolean,
    configuration: SerializableConfiguration)

/** Rows of which Spark tells the place and some columns; the engine reads the others from the files. */
private[bloomery] final class PickedFeed(spec: PickedSpec, partitions: Iterator[(Int, Iterator[InternalRow])])
    extends Feed {
  private val pathOrdinal = spec.ownColumns.length
  private val rowOrdinal = pathOrdinal + 1
  private val numbers = new FileNumbers(spec.files.map(file => file.path -> file.index).toMap)

  override def into(trainer: NativeTrainer, context: BarrierTaskContext, reporter: Reporter): Unit =
    Using.resource(ArrowMemory.child(s"train-${context.taskAttemptId()}")) { allocator =>
      val inFiles = EncodedTexts.inFiles(spec.fileColumns)
      val own = spec.ownColumns.map(column => ArrowColumn.field(column.name, column.dataType))
      EncodedTexts.withSchema(EncodedTexts.shown(spec.fileColumns) ++ own, allocator)(trainer.ingestSchema)
      val place = StructField("place", LongType) -> rowOrdinal
      val rows = new ArrowExport(spec.ownColumns.zipWithIndex :+ place, spec.rowsPerBatch, allocator)
      Using.resource(new OpenFiles) { files =>
        val opened = EncodedTexts.withSchema(inFiles, allocator) { columns =>
          NativeScan.open(trainer, columns, NativeScan.Nowhere, context.cpus())
        }
        Using.resource(opened) { scan =>
          val picking =
            EncodedTexts.withSchema(inFiles, allocator)(columns => rows.withSchema(scan.openPicks(columns, _)))
          Using.resource(picking) { picks =>
            val worker = new Worker(trainer, context, reporter, files, scan, picks)
            partitions.foreach { case (partition, source) => worker.take(partition, source, rows) }
          }
        }
      }
    }

  private final class Worker(
      trainer: NativeTrainer,
      context: BarrierTaskContext,
      reporter: Reporter,
      files: OpenFiles,
      scan: NativeScan,
      picks: NativePicks) {
    private val metrics = context.taskMetrics().inputMetrics

    def take(partition: Int, source: Iterator[InternalRow], batches: ArrowExport): Unit = {
      val rows = new InterruptibleIterator(context, source).buffered
      var groups = Option.empty[GroupsOfRows]
      var before = 0L // rows of the partition
      while (rows.hasNext) {
        val file = numbers.of(rows.head.getUTF8String(pathOrdinal))
        val row = rows.head.getLong(rowOrdinal)
        val found = groups.filter(_.goesOn(file, row)).getOrElse(new GroupsOfRows(spec.files(file)))
        groups = Some(found)
        val first = if (spec.isBare) row else before
        batches.withBatch(RowFeed.ofAWhile(run(rows, found))) { (array, count) =>
          found.addNew(files, scan, spec.configuration)
          picks.pick(array, file)
          if (spec.isBare) numbers.naming(file)(ingest(file, first, count)) else ingest(partition, first, count)
          before += count
        }
      }
    }

    /** The rows that follow in the same file; where none is left out, those that follow each other there. */
    private def run(rows: collection.BufferedIterator[InternalRow], groups: GroupsOfRows): Iterator[InternalRow] =
      new Iterator[InternalRow] {
        private var expected = rows.head.getLong(rowOrdinal)

        // Every row passes here: nothing is made for it.
        override def hasNext: Boolean = rows.hasNext && follows(rows.head)
        override def next(): InternalRow = {
          val row = rows.next()
          val number = row.getLong(rowOrdinal)
          groups.see(number)
          expected = number + 1
          row
        }

        private def follows(row: InternalRow): Boolean = {
          val number = row.getLong(rowOrdinal)
          (!spec.isBare || number == expected) && groups.goesOn(numbers.of(row.getUTF8String(pathOrdinal)), number)
        }
      }

    /** `source` and `first` are what the first of these rows is known by. */
    private def ingest(source: Int, first: Long, count: Int): Unit = {
      var taken = 0L
      while (taken < count) {
        taken += picks.ingest(trainer, source, first + taken, PickedFeed.WaitMillis)
        files.closeFirst(scan.filesDone).foreach(metrics.incBytesRead)
        context.killTaskIfInterrupted()
        reporter.pollIfDue()
      }
    }
  }
}

private[bloomery] object PickedFeed {
  private val WaitMillis = 200L
}

/** The row groups that rows of a file lie in, as rows come in their order. */
private[bloomery] final class GroupsOfRows(file: FileGroups) {
  private val seen = mutable.ArrayBuffer.empty[Int]
  private var isOpen = false
  private var place = -1 // of the last row's group
  private var end = 0L // of that group
  private var next = 0L // behind the last row

  /** Whether this row of this file may come next. */
  def goesOn(number: Int, row: Long): Boolean = row >= next && number == file.index

  def see(row: Long): Unit = {
    next = row + 1
    if (row >= end) {
      while (row >= end) {
        place += 1
        if (place == file.ends.length)
          throw new InternalError(s"Spark reads more rows of a file than its footer tells: row $row of ${file.path}")
        end = file.ends(place)
      }
      seen += file.rowGroups(place)
    }
  }

  /** Adds those that were seen since the last call to the scan, for which the first of them opens the file. */
  def addNew(files: OpenFiles, scan: NativeScan, configuration: SerializableConfiguration): Unit = if (seen.nonEmpty) {
    val groups = seen.toArray
    if (isOpen) scan.addMore(groups)
    else {
      val part = ParquetPart(file.index, file.path, file.size, file.modified, groups, InternalRow.empty)
      files.add(scan, part, configuration, NativeScan.Nowhere)
      isOpen = true
    }
    seen.clear()
  }
}
