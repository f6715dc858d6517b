package org.apache.spark.bloomery

import java.util.Locale

/**
 * Which workers are slower than the others. A worker's own time is what its steps took without
 * waiting for other workers: computing, and waiting for its rows.
 */
private[bloomery] object Stragglers {

  /** Slow is more than so many times the median of the others, */
  private val Times = 2.0

  /** after so many steps of the epoch, */
  private val MinSteps = 10L

  /** once this has cost so many seconds of the epoch. */
  private val MinSeconds = 5.0

  /** A worker that others wait for is told after this share of stepTimeout. */
  private val ShareOfTimeout = 0.25

  /** By rank, with the numbers; only among workers that are in the same epoch. */
  def slow(signs: Map[Int, WorkerSign]): Seq[(Int, String)] = {
    val known = signs.toSeq.sortBy(_._1).flatMap { case (rank, sign) => sign.progress.map(rank -> _) }
    val together = known.map(_._2.epoch).distinct.size == 1 && known.forall(_._2.ownSteps >= MinSteps)
    if (!together || known.size < signs.size || known.size < 2) Seq.empty
    else known.flatMap { case (rank, progress) =>
      val others = median(known.collect { case (other, theirs) if other != rank => perStep(theirs) })
      val own = perStep(progress)
      Option.when(own > Times * others && (own - others) * progress.ownSteps > MinSeconds) {
        rank -> s"Its own part of a step takes ${millis(own)}, the median of the others is ${millis(others)}"
      }
    }
  }

  /** Who computes, or is silent, while another one has waited long in an operation. */
  def holdingUp(signs: Map[Int, WorkerSign], now: Long, stepTimeout: Double): Seq[(Int, String)] = {
    val patience = ShareOfTimeout * stepTimeout
    def waits(sign: WorkerSign): Boolean =
      sign.progress.exists(progress => progress.doing.nonEmpty) && (now - sign.nanos) / 1e9 < patience
    val longest = signs.values.filter(waits).flatMap(_.progress.map(_.doingSeconds)).maxOption.getOrElse(0.0)
    if (longest < patience) Seq.empty
    else signs.toSeq.sortBy(_._1).collect {
      case (rank, sign) if !waits(sign) => rank -> s"Others have waited ${WorkerBoard.seconds(longest)} for it"
    }
  }

  private def perStep(progress: io.bloomery.engine.Progress): Double = progress.ownSeconds / progress.ownSteps

  private def median(values: Seq[Double]): Double = {
    val sorted = values.sorted
    (sorted((sorted.size - 1) / 2) + sorted(sorted.size / 2)) / 2
  }

  private def millis(seconds: Double): String = String.format(Locale.ROOT, "%.1f ms", Double.box(seconds * 1000))
}
