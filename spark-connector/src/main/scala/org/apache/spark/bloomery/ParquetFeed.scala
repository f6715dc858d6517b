package org.apache.spark.bloomery

import scala.collection.mutable
import scala.util.Using

import org.apache.arrow.memory.BufferAllocator
import org.apache.spark.BarrierTaskContext
import org.apache.spark.sql.bloomery.{FileColumns, ParquetPart}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

import io.bloomery.engine.{NativeScan, NativeTrainer}

/** What all workers read of Parquet files. */
private[bloomery] final case class ParquetSpec(
    fileColumns: FileColumns,
    constantColumns: StructType,
    configuration: SerializableConfiguration)

/**
 * Rows that the engine reads from Parquet files by itself. The task thread opens the files, a few
 * ahead, and closes those that are done; threads of the engine read and decode them.
 */
private[bloomery] final class ParquetFeed(spec: ParquetSpec, parts: Iterator[ParquetPart]) extends Feed {

  override def into(trainer: NativeTrainer, context: BarrierTaskContext, reporter: Reporter): Unit =
    Using.resource(ArrowMemory.child(s"train-${context.taskAttemptId()}")) { allocator =>
      val constantFields = spec.constantColumns.map(column => ArrowColumn.field(column.name, column.dataType))
      val fields = EncodedTexts.shown(spec.fileColumns) ++ constantFields
      EncodedTexts.withSchema(fields, allocator)(trainer.ingestSchema)
      val constants = Option.when(spec.constantColumns.nonEmpty) {
        new ArrowExport(spec.constantColumns.zipWithIndex, 1, allocator)
      }
      Using.resource(new OpenFiles) { files =>
        Using.resource(openScan(trainer, context, constants, allocator)) { scan =>
          read(trainer, context, reporter, scan, files, constants)
        }
      }
    }

  private def openScan(
      trainer: NativeTrainer,
      context: BarrierTaskContext,
      constants: Option[ArrowExport],
      allocator: BufferAllocator): NativeScan =
    EncodedTexts.withSchema(EncodedTexts.inFiles(spec.fileColumns), allocator) { columns =>
      def open(constantColumns: Long): NativeScan =
        NativeScan.open(trainer, columns, constantColumns, context.cpus())
      constants.fold(open(NativeScan.Nowhere))(_.withSchema(open))
    }

  private def read(
      trainer: NativeTrainer,
      context: BarrierTaskContext,
      reporter: Reporter,
      scan: NativeScan,
      files: OpenFiles,
      constants: Option[ArrowExport]): Unit = {
    val metrics = context.taskMetrics().inputMetrics
    while (files.addAhead(scan, parts, spec.configuration)(withConstants(constants))) {
      metrics.incRecordsRead(scan.ingest(trainer, ParquetFeed.WaitMillis))
      files.closeFirst(scan.filesDone).foreach(metrics.incBytesRead)
      context.killTaskIfInterrupted()
      reporter.pollIfDue()
    }
  }

  /** A part's constants as the address of a C ArrowArray. */
  private def withConstants(constants: Option[ArrowExport])(part: ParquetPart)(add: Long => Unit): Unit =
    constants.fold(add(NativeScan.Nowhere)) { values =>
      values.withBatch(Iterator.single(part.constants))((address, _) => add(address))
    }
}

private[bloomery] object ParquetFeed {
  private val WaitMillis = 200L
}

/** Files in the order in which they were opened, and closed again. */
private[bloomery] final class OpenFiles extends AutoCloseable {
  private val files = mutable.Queue.empty[HadoopSource]
  private var closed = 0L

  /**
   * Opens a few of the parts ahead of what is read and adds them to the scan, each with its constants; false once all
   * were read.
   */
  def addAhead(scan: NativeScan, parts: Iterator[ParquetPart], configuration: SerializableConfiguration)(
      withConstants: ParquetPart => (Long => Unit) => Unit): Boolean = {
    val isMore = parts.hasNext
    while (parts.hasNext && files.size < OpenFiles.Ahead) {
      val part = parts.next()
      withConstants(part)(add(scan, part, configuration, _))
    }
    if (isMore && !parts.hasNext) scan.finish()
    files.nonEmpty
  }

  /** Opens a part and adds it to the scan, with the address of its constants. */
  def add(scan: NativeScan, part: ParquetPart, configuration: SerializableConfiguration, constants: Long): Unit = {
    val source = HadoopSource.open(part, configuration.value)
    files.enqueue(source)
    scan.add(source, part.path, part.size, part.index, part.rowGroups, constants)
  }

  /** Closes so many of all that were opened; the bytes read from each that was still open. */
  def closeFirst(count: Long): Seq[Long] =
    Seq.fill((count - closed).toInt) {
      val file = files.dequeue()
      closed += 1
      file.close()
      file.bytesRead
    }

  /** Of the files that are open. */
  def bytesRead: Long = files.map(_.bytesRead).sum

  override def close(): Unit = files.foreach(_.close())
}

private[bloomery] object OpenFiles {
  private val Ahead = 8
}
