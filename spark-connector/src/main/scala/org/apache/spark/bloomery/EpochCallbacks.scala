package org.apache.spark.bloomery

import scala.util.{Failure => Failed, Success, Try}

import org.apache.spark.util.ThreadUtils

import io.bloomery.{EpochCallback, EpochRecord}

/**
 * The user's functions that are told of every epoch, on the driver and on a thread of their own, so that workers are
 * heard meanwhile. Each epoch is told once in a fit, however often workers are lost and train it again; who wanted to
 * stop is remembered.
 */
private[bloomery] final class EpochCallbacks(callbacks: Seq[EpochCallback]) extends AutoCloseable {
  private val thread = ThreadUtils.newDaemonSingleThreadExecutor("bloomery-callbacks")
  // All are the thread's; the last two are read by others.
  private var answers = Map.empty[Int, Boolean]
  @volatile private var stopped = Option.empty[Int]
  @volatile private var firstFailure = Option.empty[Throwable]

  def isEmpty: Boolean = callbacks.isEmpty

  /** The epoch after which they wanted to stop. */
  def stoppedAfter: Option[Int] = stopped

  /** What the first of them that threw has thrown. */
  def failure: Option[Throwable] = firstFailure

  /** Tells an epoch, as the engine's JSON; the answer is whether to stop. */
  def tell(epoch: String)(answer: Try[Boolean] => Unit): Unit =
    thread.execute { () =>
      val told = Try {
        val record = EpochRecord.fromJson(epoch)
        val stops = answers.getOrElse(record.epoch, callbacks.map(_.afterEpoch(record)).contains(true))
        answers += record.epoch -> stops
        if (stops) stopped = stopped.orElse(Some(record.epoch))
        stops
      }
      told match {
        case Failed(error) => firstFailure = firstFailure.orElse(Some(error))
        case Success(_) =>
      }
      answer(told)
    }

  override def close(): Unit = {
    thread.shutdownNow()
    ()
  }
}
