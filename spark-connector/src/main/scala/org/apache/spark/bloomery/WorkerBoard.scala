package org.apache.spark.bloomery

import java.util.Locale

import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

import io.bloomery.engine.Progress

/** The last that was heard of a worker, at a time of the driver's clock. */
private[bloomery] final case class WorkerSign(
    attempt: Int,
    host: String,
    executor: String,
    nanos: Long,
    progress: Option[Progress])

/**
 * What the driver knows of each worker of the attempt under way: where it runs, what it reads, and
 * what it did when it last reported. Completes the engine's messages by it, and warns of workers
 * that keep the others waiting, at most once for each worker and epoch. Any thread may ask.
 */
private[bloomery] final class WorkerBoard(
    numWorkers: Int,
    share: Int => String,
    warn: String => Unit,
    stepTimeout: Double = Double.PositiveInfinity,
    now: () => Long = () => System.nanoTime()) {
  private val signs = mutable.Map.empty[Int, WorkerSign]
  private val warned = mutable.Set.empty[(Int, Int, Int)]
  private var executorLoss: Option[String] = None

  def arrived(attempt: Int, rank: Int, host: String, executor: String): Unit = synchronized {
    signs(rank) = WorkerSign(attempt, host, executor, now(), None)
  }

  def reported(attempt: Int, rank: Int, progress: Progress): Unit = {
    val slow = synchronized {
      signs.get(rank).filter(_.attempt == attempt).foreach { sign =>
        signs(rank) = sign.copy(nanos = now(), progress = Some(progress))
      }
      stragglers(attempt).filter { case (rank, _) => warned.add((attempt, rank, progress.epoch)) }
    }
    slow.foreach { case (rank, why) => warn(s"Slow worker: ${describe(rank)}. $why") }
  }

  /**
   * "rank 1 (host 10.0.0.2, executor 3, partitions 1, 3), last sign of life 3.2 s ago: epoch 2,
   * step 17, allreduce of bucket 2 of 5 (40064 bytes)"
   */
  def describe(rank: Int): String = synchronized {
    signs.get(rank).fold(s"rank $rank, which never said where it is") { sign =>
      val about = sign.progress.fold("starting")(WorkerBoard.about)
      s"rank $rank (host ${sign.host}, executor ${sign.executor}, ${share(rank)}), last sign of life" +
        s" ${WorkerBoard.seconds((now() - sign.nanos) / 1e9)} ago: $about"
    }
  }

  /** A worker's sentence names the lost ranks first; the rest is known here. */
  def complete(message: String): String =
    WorkerBoard.LostRanks.findFirstMatchIn(message).fold(message) { found =>
      s"$message. Lost was ${found.group(1).split(", ").map(rank => describe(rank.toInt)).mkString("; ")}"
    }

  /** An executor that Spark gave up, with the workers that ran there. */
  def lostExecutor(executor: String, reason: String): String = synchronized {
    val ranks = signs.collect { case (rank, sign) if sign.executor == executor => rank }.toSeq.sorted
    val text = (s"Executor $executor was lost: $reason" +: ranks.map(rank => s"It ran ${describe(rank)}"))
      .mkString(". ")
    if (ranks.nonEmpty || executorLoss.isEmpty) executorLoss = Some(text)
    notifyAll()
    text
  }

  /** The last executor lost that had a worker of ours; a first one may go before its workers say where they are. */
  def lastExecutorLoss: Option[String] = synchronized(executorLoss)

  /** The same, where Spark may tell of it a moment after the stage has failed. */
  def awaitExecutorLoss(patience: FiniteDuration): Option[String] = synchronized {
    val deadline = patience.fromNow
    while (executorLoss.isEmpty && deadline.hasTimeLeft()) wait(math.max(1, deadline.timeLeft.toMillis))
    executorLoss
  }

  private def stragglers(attempt: Int): Seq[(Int, String)] = {
    val current = signs.filter { case (_, sign) => sign.attempt == attempt }.toMap
    if (current.size < numWorkers) Seq.empty
    else Stragglers.holdingUp(current, now(), stepTimeout) ++ Stragglers.slow(current)
  }
}

private[bloomery] object WorkerBoard {
  private val LostRanks =
    """(?:Lost contact with|waited for|Cannot connect to|within connectTimeout:) ranks? (\d+(?:, \d+)*)""".r

  def seconds(value: Double): String = String.format(Locale.ROOT, "%.1f s", Double.box(value))

  def about(progress: Progress): String = {
    val work = progress.state match {
      case "training" => "computing"
      case "loading" => "taking rows in"
      case other => other
    }
    val doing = if (progress.doing.isEmpty) work else progress.doing
    if (progress.epoch == 0) doing else s"epoch ${progress.epoch}, step ${progress.step}, $doing"
  }
}
