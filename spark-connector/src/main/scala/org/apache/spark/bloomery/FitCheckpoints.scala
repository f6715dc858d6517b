package org.apache.spark.bloomery

import java.util.UUID
import java.util.zip.CRC32C

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.util.SerializableConfiguration

/** The checkpoints of one fit on the driver, over all jobs it takes; nothing when none are wanted. */
private[bloomery] final class FitCheckpoints(
    request: TrainRequest,
    input: Input,
    configuration: Configuration,
    events: FitEvents)
    extends AutoCloseable {
  private val run = UUID.randomUUID().toString.take(FitCheckpoints.RunDigits)
  private val source = FitCheckpoints.sourceOf(input)

  val board: Option[CheckpointBoard] = request.checkpoints.map { wanted =>
    new CheckpointBoard(
      new CheckpointFolder(wanted.path, configuration),
      wanted,
      run,
      request.numWorkers,
      source,
      request.epochs,
      events.add)
  }

  /** Before the first job, and before each further one. */
  def prepare(): Unit = board.foreach(_.prepare())
  def prepareAgain(): Unit = board.fold(triedAgain("The next job"))(_.prepareAgain())

  /** What the board tells where there is one. */
  def triedAgain(who: String): Unit =
    if (board.isEmpty) {
      events.add(
        s"$who starts over from the beginning; set checkpointPath, and it goes on from the newest checkpoint instead")
    }

  /** For whoever lost a worker and is not tried again. */
  def advice: String =
    if (board.isEmpty)
      "Set checkpointPath, and a fit after such a loss goes on from the newest checkpoint; with maxRestarts a fit is" +
        " submitted again by itself"
    else
      "Fit again with the same checkpointPath to go on from the newest checkpoint; with maxRestarts a fit does so by" +
        " itself"

  def target(restart: Int): Option[CheckpointTarget] = request.checkpoints.map { wanted =>
    CheckpointTarget(
      wanted.path,
      wanted.keep,
      run,
      restart,
      source,
      board.fold(Set.empty[String])(_.damaged),
      new SerializableConfiguration(configuration))
  }

  override def close(): Unit = board.foreach(_.close())
}

private[bloomery] object FitCheckpoints {
  private val RunDigits = 8

  /** A source for the user, who has no use for a checksum. */
  def inWords(source: String): String =
    source.replaceFirst(" \\([0-9a-f]{8}\\)$", "").replaceFirst("^1 Parquet files", "1 Parquet file")

  /** The files that are trained on, by names and sizes; empty where Spark reads the rows. */
  private def sourceOf(input: Input): String = input match {
    case Input.Files(plan) =>
      val parts = plan.workers.flatten
      val sum = new CRC32C
      parts.map(part => s"${new Path(part.path).getName} ${part.size}").distinct.sorted
        .foreach(text => sum.update(text.getBytes("UTF-8")))
      f"${plan.numFiles} Parquet files of ${plan.numRows} rows (${sum.getValue}%08x)"
    case _: Input.BySpark => ""
  }
}
