package io.bloomery.engine

import io.bloomery.jni.Native

/** The engine's PickedRows of a scan, which has to be closed after them. The task thread owns and uses both. */
final class NativePicks private[engine] (handle: Long) extends AutoCloseable {

  /**
   * Picks rows of the file of this index: a C ArrowArray of columns of their own. Their row groups were added to the
   * scan.
   */
  def pick(ownColumns: Long, file: Int): Unit = Native.pick(handle, ownColumns, file)

  /**
   * Gives the next of these to the trainer, the first of them as this row of the partition; how many, 0 when none came
   * in this time.
   */
  def ingest(trainer: NativeTrainer, partition: Int, firstRow: Long, waitMillis: Long): Long =
    trainer.ingestPicks(handle, partition, firstRow, waitMillis)

  override def close(): Unit = Native.closePicks(handle)
}
