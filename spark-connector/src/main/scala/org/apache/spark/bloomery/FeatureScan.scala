package org.apache.spark.bloomery

import scala.util.Using

import org.apache.spark.TaskContext
import org.apache.spark.sql.bloomery.ParquetPart
import org.apache.spark.sql.types.StructField
import org.apache.spark.util.SerializableConfiguration

import io.bloomery.InternalError
import io.bloomery.engine.NativeScan

/**
 * One column of Parquet files, read by the engine for a task that predicts, which owns and closes it. The files are
 * those that were planned with.
 */
private[spark] final class FeatureScan(
    column: StructField,
    parts: Seq[ParquetPart],
    configuration: SerializableConfiguration,
    context: TaskContext)
    extends AutoCloseable {
  private val files = new OpenFiles
  private val scan = Using.resource(ArrowMemory.child(s"scan-${context.taskAttemptId()}-${context.partitionId()}")) {
    EncodedTexts.withSchema(Seq(ArrowColumn.field(column.name, column.dataType)), _)(NativeScan.open)
  }
  private val unopened = parts.iterator
  private var read = 0L

  /** `consume` gets the next rows as the address of a C ArrowArray, and their number. */
  def next(consume: (Long, Int) => Unit): Unit = {
    var batch = NativeScan.Nowhere
    while (batch == NativeScan.Nowhere) {
      context.killTaskIfInterrupted()
      val isMore = files.addAhead(scan, unopened, configuration)(_ => _(NativeScan.Nowhere))
      if (!isMore) throw new InternalError(s"Files have fewer rows than their footers tell: ${parts.map(_.path)}")
      batch = scan.next(FeatureScan.WaitMillis)
      read += files.closeFirst(scan.filesDone).sum
    }
    consume(batch, scan.rows.toInt)
  }

  def bytesRead: Long = read + files.bytesRead

  override def close(): Unit =
    try scan.close()
    finally files.close()
}

private[bloomery] object FeatureScan {
  private val WaitMillis = 200L
}
