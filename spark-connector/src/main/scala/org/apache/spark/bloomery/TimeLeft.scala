package org.apache.spark.bloomery

import io.bloomery.engine.Progress

/** How long a training will take still, by the steps since it was first seen. */
private[bloomery] final class TimeLeft(now: () => Long = () => System.nanoTime()) {
  private var started: Option[(Long, Double)] = None

  /** In seconds; nothing while steps or their number are not known. */
  def of(progress: Progress): Option[Double] =
    if (!progress.hasNumbers) None
    else {
      val done = (progress.epoch - 1).toDouble * progress.steps + progress.step
      val (since, before) = started.getOrElse((now(), done))
      if (started.isEmpty) started = Some((since, before))
      val left = progress.steps.toDouble * progress.epochs - done
      Option.when(done > before && progress.steps > 0)((now() - since) / 1e9 / (done - before) * left)
    }
}
