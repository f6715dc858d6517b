package org.apache.spark.bloomery

import java.io.PrintStream
import java.nio.file.{Files, Path}
import java.util.Locale

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.SparkContext

import io.bloomery.EpochRecord
import io.bloomery.engine.Progress

/**
 * Shows a fit on the driver's stderr: on a terminal one line that is overwritten, elsewhere a line
 * every few seconds; the last line of each epoch stays. `clear` removes what others left on the
 * line. Called by one thread at a time.
 */
private[bloomery] final class ProgressLine(
    out: PrintStream,
    live: Boolean,
    clear: () => Unit = () => (),
    now: () => Long = () => System.nanoTime())
    extends FitView {
  private val timeLeft = new TimeLeft(now)

  /** Seconds of the epochs that were told: those of a checkpoint have the same when they come again. */
  private val told = mutable.Map.empty[Int, Double]
  private var lastPrinted = now() - ProgressLine.SlowNanos
  private var width = 0

  override def report(rank: Int, progress: Progress): Unit = if (rank == 0) show(progress)

  /** A sentence of its own line. */
  override def say(text: String): Unit = printLine(text)

  /** What comes next begins a line of its own. */
  override def end(failure: Option[Throwable]): Unit = erase()

  private def show(progress: Progress): Unit = {
    progress.finishedEpochs
      .map(EpochRecord.fromJson)
      .filterNot(epoch => told.put(epoch.epoch, epoch.seconds).contains(epoch.seconds))
      .foreach(epoch => printLine(ProgressLine.epochText(epoch, progress.epochs)))
    if (progress.hasNumbers) showNow(ProgressLine.text(progress, timeLeft.of(progress)))
    else if (progress.state == "loading" && progress.rows > 0)
      showNow(s"loading  ${progress.rows} rows on the first worker")
  }

  private def showNow(text: String): Unit =
    if (live) overwrite(text)
    else if (now() - lastPrinted > ProgressLine.SlowNanos) printLine(text)

  private def overwrite(text: String): Unit = {
    clear()
    out.print("\r" + text.padTo(width, ' '))
    out.flush()
    width = text.length
  }

  private def printLine(text: String): Unit = {
    erase()
    out.println(text)
    lastPrinted = now()
  }

  /** Leaves an empty line, at its beginning. */
  private def erase(): Unit = {
    clear()
    if (width > 0) {
      out.print("\r" + " " * width + "\r")
      out.flush()
      width = 0
    }
  }
}

private[bloomery] object ProgressLine {
  private val SlowNanos = 5L * 1000 * 1000 * 1000

  /** Takes the place of Spark's own bar, which cannot see into a barrier stage. */
  def onStderr(context: SparkContext): ProgressLine =
    new ProgressLine(System.err, isTerminal, () => context.progressBar.foreach(_.finishAll()))

  /** `epoch 1/2  step 120/313  loss 0.3121  accuracy 0.9012  2105 samples/s  14 s left` */
  def text(progress: Progress, secondsLeft: Option[Double]): String = {
    val step = if (progress.steps > 0) s"${progress.step}/${progress.steps}" else s"${progress.step}"
    val parts = Seq(s"epoch ${progress.epoch}/${progress.epochs}", s"step $step") ++
      numbers(("loss" -> progress.loss) +: progress.metrics) ++
      Seq(format("%.0f samples/s", progress.samplesPerSecond)) ++
      secondsLeft.map(seconds => format("%.0f s left", seconds))
    parts.mkString("  ")
  }

  /** The line that stays when an epoch has ended. */
  def epochText(epoch: EpochRecord, epochs: Int): String = {
    val parts = Seq(s"epoch ${epoch.epoch}/$epochs") ++
      numbers(("loss" -> epoch.loss) +: epoch.metrics.toSeq) ++
      numbers(epoch.validationLoss.map("validation loss" -> _).toSeq) ++
      numbers(epoch.validationMetrics.toSeq.map { case (name, value) => s"validation $name" -> value }) ++
      Seq(format("%.0f samples/s", epoch.samplesPerSecond), format("%.1f s", epoch.seconds))
    parts.mkString("  ")
  }

  private def numbers(named: Seq[(String, Double)]): Seq[String] =
    named.map { case (name, value) => s"$name ${format("%.4f", value)}" }

  private def format(pattern: String, value: Double): String =
    String.format(Locale.ROOT, pattern, Double.box(value))

  /** Java's own test also wants standard input, which Python and batch shells redirect. */
  private def isTerminal: Boolean =
    Try(Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString)
      .toOption
      .exists(target => target.startsWith("/dev/pts/") || target.startsWith("/dev/tty"))
}
