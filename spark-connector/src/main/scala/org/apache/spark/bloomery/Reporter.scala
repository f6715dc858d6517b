package org.apache.spark.bloomery

import scala.collection.mutable
import scala.concurrent.Future
import scala.concurrent.duration.Duration

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

import io.bloomery.engine.{NativeTrainer, Progress}

/** Carries news from a worker's trainer to the driver, twice a second and at each epoch's end. */
private[bloomery] final class Reporter(trainer: NativeTrainer, client: ControlClient)
    extends Logging {
  private val epochs = Seq.newBuilder[String]
  private val spans = mutable.Queue.empty[String]
  private var lastReport = System.nanoTime()

  /** Whether to stop after the epoch that the trainer asked about. */
  private var answer = Option.empty[Future[Boolean]]

  /** The epochs that have ended, each as JSON. */
  def history: Seq[String] = epochs.result()

  /** What the trainer's threads did last, each span as JSON. */
  def trace: Seq[String] = spans.toSeq

  /** Waits for news and reports them; true when training has finished. */
  def poll(waitMillis: Long): Boolean = {
    val progress = trainer.poll(if (answer.isEmpty) waitMillis else math.min(waitMillis, Reporter.AnswerMillis))
    progress.log.foreach(line => logInfo(line))
    epochs ++= progress.finishedEpochs
    spans ++= progress.trace
    spans.dropInPlace(spans.size - Reporter.MaxSpans)
    if (isDue || progress.isFinished || progress.finishedEpochs.nonEmpty) report(progress)
    passOn(progress)
    progress.isFinished
  }

  /** The trainer's question after an epoch to the driver, and its answer back. */
  private def passOn(progress: Progress): Unit = answer match {
    case Some(told) if told.isCompleted =>
      answer = None
      trainer.answer(ThreadUtils.awaitResult(told, Duration.Zero))
    case None if progress.asks => answer = epochs.result().lastOption.map(client.epochEnded)
    case _ =>
  }

  /** For use between batches, which may be many a second. */
  def pollIfDue(): Unit = if (isDue) { poll(0); () }

  private def isDue: Boolean = System.nanoTime() - lastReport > Reporter.IntervalNanos

  private def report(progress: Progress): Unit = {
    lastReport = System.nanoTime()
    client.report(progress.forDriver)
  }
}

private[bloomery] object Reporter {

  /** So many spans of a worker travel to the driver. */
  private val MaxSpans = 4000

  /** Between two looks whether the driver has answered. */
  private val AnswerMillis = 10L
  private val IntervalNanos = 500L * 1000 * 1000
}
