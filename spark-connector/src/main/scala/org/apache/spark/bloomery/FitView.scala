package org.apache.spark.bloomery

import java.util.concurrent.{ArrayBlockingQueue, ThreadPoolExecutor, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

import io.bloomery.engine.Progress

/** Shows a fit while it runs: a line, a page, a file. Called on one thread, which may wait for a disk. */
private[bloomery] trait FitView {

  /** What a worker reported; that of rank 0 has the numbers of all. */
  def report(rank: Int, progress: Progress): Unit

  /** A sentence for the user. */
  def say(text: String): Unit = ()

  /** The fit is over, with this failure if it failed. */
  def end(failure: Option[Throwable]): Unit = ()
}

/**
 * All views of one fit, on a thread of their own, since the control channel must not wait for them.
 * One that fails is told of once and left out: nobody's view ends a training.
 */
private[bloomery] final class FitViews(all: Seq[FitView]) extends Logging {
  private val thread = new ThreadPoolExecutor(
    1,
    1,
    0,
    TimeUnit.SECONDS,
    new ArrayBlockingQueue[Runnable](FitViews.MaxWaiting),
    ThreadUtils.namedThreadFactory(FitViews.ThreadName),
    new ThreadPoolExecutor.DiscardPolicy)
  private var views = all

  def report(rank: Int, json: String): Unit = each(_.report(rank, Progress(json)))

  def say(text: String): Unit = each(_.say(text))

  /** Runs a fit, and tells the views how it ended. */
  def during[T](fit: => T): T =
    try {
      val result = fit
      each(_.end(None))
      result
    } catch {
      case error: Throwable =>
        each(_.end(Some(error)))
        throw error
    } finally {
      thread.shutdown()
      if (!thread.awaitTermination(FitViews.EndSeconds, TimeUnit.SECONDS)) {
        logWarning("Views of the fit are still being written when it ends")
        thread.shutdownNow()
      }
    }

  private def each(show: FitView => Unit): Unit = thread.execute { () =>
    views = views.filter { view =>
      try {
        show(view)
        true
      } catch {
        case NonFatal(error) =>
          logWarning(s"A view of the fit is left out: ${view.getClass.getSimpleName}", error)
          false
      }
    }
  }
}

private[bloomery] object FitViews {

  /** Runs several fits together. */
  def during[T](all: Seq[FitViews])(fits: => T): T =
    all.foldLeft(() => fits)((inner, views) => () => views.during(inner()))()

  val ThreadName = "bloomery-views"

  /** What a view that hangs may leave undone. */
  private val MaxWaiting = 10000
  private val EndSeconds = 5L
}
