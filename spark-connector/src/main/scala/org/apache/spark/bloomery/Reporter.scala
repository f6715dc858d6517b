package org.apache.spark.bloomery

import scala.concurrent.Future
import scala.concurrent.duration.Duration

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

import io.bloomery.engine.{Json, NativeTrainer, Progress}

/**
 * Carries news from a worker's trainer to the driver, twice a second and at each epoch's end. With
 * `traced` it keeps many spans of the trainer's threads, and takes them before the trainer forgets them.
 */
private[bloomery] final class Reporter(trainer: NativeTrainer, client: ControlClient, host: String, traced: Boolean)
    extends Logging {
  private val epochs = Seq.newBuilder[String]
  private val spans = if (traced) new SpanLog(50000, 50000) else new SpanLog(0, Reporter.MaxSpans)
  private val firstClocks = Option.when(traced)(client.compareClocks())
  private var originMicros = 0L
  private var lastPoll, lastReport = System.nanoTime()

  /** Whether to stop after the epoch that the trainer asked about. */
  private var answer = Option.empty[Future[Boolean]]

  /** The epochs that have ended, each as JSON. */
  def history: Seq[String] = epochs.result()

  /** What the trainer's threads did; asks the driver for the time once more. */
  def trace(): WorkerTrace =
    WorkerTrace(host, originMicros, firstClocks.toSeq :+ client.compareClocks(), spans.all)

  /** Waits for news and reports them; true when training has finished. */
  def poll(waitMillis: Long): Boolean = {
    val progress = trainer.poll(longest(waitMillis))
    lastPoll = System.nanoTime()
    progress.log.foreach(line => logInfo(line))
    epochs ++= progress.finishedEpochs.map(withMemory)
    spans.add(progress.trace)
    originMicros = progress.traceOriginMicros
    if (isDue || progress.isFinished || progress.finishedEpochs.nonEmpty || progress.log.nonEmpty) report(progress)
    passOn(progress)
    progress.isFinished
  }

  /** What the engine cannot tell: this process is not its own. */
  private def withMemory(epoch: String): String =
    PeakMemory.bytes().fold(epoch)(bytes => Json.parse(epoch, "epoch").put("peakMemoryBytes", bytes).toString)

  /** How long a poll may wait, so that neither spans are forgotten nor an answer is. */
  private def longest(waitMillis: Long): Long =
    Seq(
      Some(waitMillis),
      Option.when(traced)(Reporter.TracedMillis),
      answer.map(_ => Reporter.AnswerMillis)).flatten.min

  /** The trainer's question after an epoch to the driver, and its answer back. */
  private def passOn(progress: Progress): Unit = answer match {
    case Some(told) if told.isCompleted =>
      answer = None
      trainer.answer(ThreadUtils.awaitResult(told, Duration.Zero))
    case None if progress.asks => answer = epochs.result().lastOption.map(client.epochEnded)
    case _ =>
  }

  /** For use between batches, which may be many a second. */
  def pollIfDue(): Unit = {
    val filling = traced && System.nanoTime() - lastPoll > Reporter.TracedMillis * 1000 * 1000
    if (isDue || filling) { poll(0); () }
  }

  private def isDue: Boolean = System.nanoTime() - lastReport > Reporter.IntervalNanos

  private def report(progress: Progress): Unit = {
    lastReport = System.nanoTime()
    client.report(progress.forDriver)
  }
}

private[bloomery] object Reporter {

  /** So many spans of a worker travel to the driver where nobody asked for a trace. */
  private val MaxSpans = 4000

  /** The trainer keeps spans of about as long. */
  private val TracedMillis = 50L

  /** Between two looks whether the driver has answered. */
  private val AnswerMillis = 10L
  private val IntervalNanos = 500L * 1000 * 1000
}
