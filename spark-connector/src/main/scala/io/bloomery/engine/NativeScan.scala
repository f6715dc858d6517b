package io.bloomery.engine

import io.bloomery.jni.{ByteSource, Native}

/** The engine's ParquetScan, which the task thread owns and uses; closing stops its threads. */
final class NativeScan private (handle: Long) extends AutoCloseable {

  /** Adds row groups of a file; `constants` is the address of a C ArrowArray of one row. */
  def add(
      source: ByteSource,
      name: String,
      size: Long,
      index: Int,
      rowGroups: Array[Int],
      constants: Long): Unit =
    Native.scanFile(handle, source, name, size, index, rowGroups, constants)

  /** Says that all files were added. */
  def finish(): Unit = Native.finishScan(handle)

  /** Gives the next batch to the trainer; its rows, 0 when none came in this time. */
  def ingest(trainer: NativeTrainer, waitMillis: Long): Long =
    trainer.ingestScan(handle, waitMillis)

  /** How many files, of those added and in their order, are read no more. */
  def filesDone: Long = Native.scannedFiles(handle)

  override def close(): Unit = Native.closeScan(handle)
}

object NativeScan {

  /** For the rows of this trainer; takes the addresses of two C ArrowSchemas. */
  def open(trainer: NativeTrainer, fileColumns: Long, constantColumns: Long, threads: Int): NativeScan =
    new NativeScan(trainer.openScan(fileColumns, constantColumns, threads))
}
