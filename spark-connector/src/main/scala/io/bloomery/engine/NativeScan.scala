package io.bloomery.engine

import io.bloomery.jni.{ByteSource, Native, NativeLoader}

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

  /** Adds further row groups of the file that was added last. */
  def addMore(rowGroups: Array[Int]): Unit = Native.scanMore(handle, rowGroups)

  /** For rows that are picked; takes the addresses of two C ArrowSchemas. */
  def openPicks(fileColumns: Long, ownColumns: Long): NativePicks =
    new NativePicks(Native.openPicks(handle, fileColumns, ownColumns))

  /** Says that all files were added. */
  def finish(): Unit = Native.finishScan(handle)

  /** Gives the next batch to the trainer; its rows, 0 when none came in this time. */
  def ingest(trainer: NativeTrainer, waitMillis: Long): Long =
    trainer.ingestScan(handle, waitMillis)

  /** The next batch as the address of a C ArrowArray, valid till the next call; 0 when none came in this time. */
  def next(waitMillis: Long): Long = Native.nextOfScan(handle, waitMillis)

  /** The rows of the batch that `next` gave. */
  def rows: Long = Native.scannedRows(handle)

  /** How many files, of those added and in their order, are read no more. */
  def filesDone: Long = Native.scannedFiles(handle)

  override def close(): Unit = {
    Native.closeScan(handle)
    RestingMemory.returnLater()
  }
}

object NativeScan {

  /** The address that stands for no struct. */
  val Nowhere = 0L

  /** For the rows of this trainer; takes the addresses of two C ArrowSchemas. */
  def open(trainer: NativeTrainer, fileColumns: Long, constantColumns: Long, threads: Int): NativeScan =
    new NativeScan(trainer.openScan(fileColumns, constantColumns, threads))

  /** For rows that are predicted; takes the address of a C ArrowSchema. */
  def open(fileColumns: Long): NativeScan = {
    NativeLoader.load()
    new NativeScan(Native.openPredictScan(fileColumns))
  }
}
