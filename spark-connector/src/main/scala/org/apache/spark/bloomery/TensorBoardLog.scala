package org.apache.spark.bloomery

import java.net.InetAddress

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}

import io.bloomery.{EpochRecord, UserError}
import io.bloomery.engine.Progress

/**
 * Writes each epoch's numbers for TensorBoard, as Keras names and places them: runs `train` and
 * `validation` below one folder of any Hadoop file system, tags `epoch_loss`, `epoch_accuracy`.
 */
private[bloomery] final class TensorBoardLog(folder: String, configuration: Configuration) extends FitView {
  private val runs = mutable.Map.empty[String, FSDataOutputStream]
  private var lastEpoch = 0

  // Before any job: a folder that cannot be written to is the user's to mend.
  try run("train")
  catch {
    case NonFatal(error) =>
      throw new UserError(s"tensorboardDir cannot be written to: $folder, ${error.getMessage}; choose another one")
  }

  /** An attempt that goes on from a checkpoint tells its epochs again: each is written once. */
  override def report(rank: Int, progress: Progress): Unit =
    if (rank == 0) {
      progress.finishedEpochs.map(EpochRecord.fromJson).filter(_.epoch > lastEpoch).foreach { epoch =>
        lastEpoch = epoch.epoch
        write(epoch)
      }
    }

  override def end(failure: Option[Throwable]): Unit = runs.values.foreach(_.close())

  private def write(epoch: EpochRecord): Unit = {
    val training = Seq("loss" -> epoch.loss) ++ epoch.metrics ++
      Seq("learning_rate" -> epoch.learningRate, "samples_per_second" -> epoch.samplesPerSecond)
    append("train", epoch.epoch, training)
    epoch.validationLoss.foreach(loss =>
      append("validation", epoch.epoch, ("loss" -> loss) +: epoch.validationMetrics.toSeq))
  }

  /** TensorBoard counts epochs from 0, as Keras does. */
  private def append(name: String, epoch: Int, numbers: Seq[(String, Double)]): Unit = {
    val out = run(name)
    val named = numbers.map { case (tag, value) => s"epoch_$tag" -> value.toFloat }
    out.write(TensorBoardEvent.record(TensorBoardEvent.scalars(TensorBoardLog.now, epoch - 1L, named)))
    out.hflush()
  }

  private def run(name: String): FSDataOutputStream =
    runs.getOrElseUpdate(
      name, {
        val host = Try(InetAddress.getLocalHost.getHostName).getOrElse("driver")
        val file = f"events.out.tfevents.${System.currentTimeMillis() / 1000}%010d.$host.${System.nanoTime()}"
        val path = new Path(new Path(folder, name), file)
        val out = path.getFileSystem(configuration).create(path, false)
        out.write(TensorBoardEvent.record(TensorBoardEvent.version(TensorBoardLog.now)))
        out.hflush()
        out
      })
}

private[bloomery] object TensorBoardLog {
  private def now: Double = System.currentTimeMillis() / 1e3
}
