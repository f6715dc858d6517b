package io.bloomery.engine

import java.util.concurrent.atomic.AtomicBoolean

import io.bloomery.jni.{Native, NativeLoader}

/**
 * The engine's Trainer of one worker. The task thread owns it and calls everything; only `cancel`, and
 * what takes checkpoints, may come from another thread. Closing stops its threads and frees it.
 */
final class NativeTrainer private (handle: Long) extends AutoCloseable {
  private val closed = new AtomicBoolean(false)

  def address(): Array[Byte] = Native.trainerAddress(handle)

  /** `credentials` are this worker's own, and empty for a single one. */
  def connect(addresses: Array[Array[Byte]], credentials: Array[Byte]): Unit =
    Native.connectTrainer(handle, addresses, credentials)

  /** The engine's log lines since the last call or poll. */
  def takeLog(): Seq[String] = Progress(Native.takeLog(handle)).log

  def ingestSchema(arrowSchema: Long): Unit = Native.ingestSchema(handle, arrowSchema)

  def ingest(arrowArray: Long, partition: Int, firstRow: Long): Unit =
    Native.ingest(handle, arrowArray, partition, firstRow)

  /** The handle of a scan for this trainer's rows. */
  private[engine] def openScan(fileColumns: Long, constantColumns: Long, threads: Int): Long =
    Native.openScan(handle, fileColumns, constantColumns, threads)

  /** Takes the next batch of a scan; its rows, 0 when none came in this time. */
  private[engine] def ingestScan(scan: Long, waitMillis: Long): Long =
    Native.ingestScan(handle, scan, waitMillis)

  /** Takes the next of the rows that were picked, of which the first is this row of the partition. */
  private[engine] def ingestPicks(picks: Long, partition: Int, firstRow: Long, waitMillis: Long): Long =
    Native.ingestPicks(handle, picks, partition, firstRow, waitMillis)

  def finishIngest(): Unit = Native.finishIngest(handle)

  /** What happened since the last call; waits that long for something to happen. */
  def poll(waitMillis: Long): Progress = Progress(Native.pollTrainer(handle, waitMillis))

  /** After an epoch, when the trainer asks: whether it should stop. */
  def answer(stop: Boolean): Unit = Native.answerTrainer(handle, stop)

  /** A further trainer of the same rows, once this one has finished; this one may be closed then. */
  def another(task: String, weights: Array[Byte]): NativeTrainer =
    new NativeTrainer(Native.openTrainerOverRows(handle, task, weights))

  def weights(): Array[Byte] = Native.trainerWeights(handle)

  /** Adds bytes of a checkpoint: of what all workers share, or of this worker's own. */
  def addToState(shared: Boolean, bytes: Array[Byte]): Unit = Native.addToState(handle, shared, bytes)

  /** Before connecting: takes up the state whose bytes were added; `recovers`: which this fit made itself. */
  def restore(recovers: Boolean): Unit = Native.restoreTrainer(handle, false, recovers)

  /** The same of its weights alone. */
  def restoreWeights(): Unit = Native.restoreTrainer(handle, true, false)

  /** A copy of the state to be written; waits that long for one. */
  def awaitCheckpoint(waitMillis: Long): Option[CheckpointState] =
    Option(Native.awaitCheckpoint(handle, waitMillis)).filter(_.nonEmpty).map(CheckpointState(_))

  /** The bytes of that copy. */
  def checkpointPieces(shared: Boolean, bytes: Long): Iterator[Array[Byte]] =
    Iterator.iterate(0L)(_ + NativeTrainer.PieceBytes).takeWhile(_ < bytes).map { offset =>
      Native.checkpointBytes(handle, shared, offset, math.min(NativeTrainer.PieceBytes, bytes - offset).toInt)
    }

  /** Makes room for the next copy. */
  def releaseCheckpoint(): Unit = Native.releaseCheckpoint(handle)

  /** Makes every waiting call of the task thread throw Cancelled. */
  def cancel(): Unit = synchronized {
    if (!closed.get()) Native.cancelTrainer(handle)
  }

  override def close(): Unit = synchronized {
    if (closed.compareAndSet(false, true)) {
      Native.closeTrainer(handle)
      RestingMemory.returnLater()
    }
  }
}

object NativeTrainer {
  private val PieceBytes = 4L << 20

  /** weights: those to begin with, as safetensors; empty for the initializers' values. */
  def open(task: String, weights: Array[Byte]): NativeTrainer = {
    NativeLoader.load()
    new NativeTrainer(Native.openTrainer(task, weights))
  }
}
