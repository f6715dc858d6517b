package org.apache.spark.bloomery

import scala.collection.immutable.SortedMap

import io.bloomery.EpochRecord
import io.bloomery.engine.{Json, Progress}

/**
 * One fit as it stands, for whoever looks at it from outside: `epochs` are those that have ended, by
 * rank and number. `failure` says why it ended without a model.
 */
private[spark] final case class LiveFit(
    application: String,
    uid: String,
    network: String,
    numWorkers: Int,
    startedAt: Long,
    endedAt: Option[Long] = None,
    failure: Option[String] = None,
    latest: Option[Progress] = None,
    secondsLeft: Option[Double] = None,
    epochs: Map[Int, SortedMap[Int, EpochRecord]] = Map.empty,
    events: Vector[String] = Vector.empty) {

  def isRunning: Boolean = endedAt.isEmpty

  /** waiting, loading, training, finished or failed. */
  def state: String =
    if (failure.isDefined) "failed"
    else if (!isRunning) "finished"
    else latest.fold("waiting")(_.state)

  def seconds(now: Long): Double = (endedAt.getOrElse(now) - startedAt) / 1e3

  /** The epochs with the numbers of all workers. */
  def history: Seq[EpochRecord] = epochs.getOrElse(0, SortedMap.empty[Int, EpochRecord]).values.toSeq

  /** For the progress bar of a notebook. */
  def toJson: String =
    Json
      .obj(
        "state" -> state,
        "failure" -> failure,
        "workers" -> numWorkers,
        "seconds" -> seconds(System.currentTimeMillis()),
        "secondsLeft" -> secondsLeft,
        "progress" -> latest.map(progress => Json.parse(progress.json, "progress")),
        "epochs" -> history.map(epoch =>
          Json.obj(
            "epoch" -> epoch.epoch,
            "numbers" -> Json.obj(LiveFit.numbers(epoch): _*),
            "seconds" -> epoch.seconds,
            "samplesPerSecond" -> epoch.samplesPerSecond)),
        "events" -> events)
      .toString
}

private[spark] object LiveFit {

  /** Loss and metrics of an epoch, then those of validation. */
  def numbers(epoch: EpochRecord): Seq[(String, Double)] =
    (("loss" -> epoch.loss) +: epoch.metrics.toSeq) ++
      epoch.validationLoss.map("validation loss" -> _) ++
      epoch.validationMetrics.map { case (name, value) => s"validation $name" -> value }
}

/** The fits of this driver, running and past, the newest first. */
object LiveFits {
  private val MaxKept = 50
  @volatile private var fits: Vector[LiveFit] = Vector.empty

  private[spark] def of(application: String): Seq[LiveFit] = fits.filter(_.application == application)

  /** The fit of an estimator that is training, or its newest, as JSON; empty when it has none. */
  def json(uid: String): String = {
    val ours = fits.filter(_.uid == uid)
    // Those of several param maps wait for each other.
    ours.find(fit => fit.isRunning && fit.state == "training").orElse(ours.headOption).fold("")(_.toJson)
  }

  private[bloomery] def start(application: String, uid: String, task: String, numWorkers: Int): FitView = {
    val name = Json.parse(task, "task").path("network").path("name").asText("network")
    val fit = LiveFit(application, uid, name, numWorkers, System.currentTimeMillis())
    synchronized { fits = (fit +: fits).take(MaxKept) }
    new LiveFitView(fit)
  }

  private def replace(before: LiveFit, after: LiveFit): Unit = synchronized {
    fits = fits.map(fit => if (fit eq before) after else fit)
  }

  private final class LiveFitView(start: LiveFit) extends FitView {
    private val timeLeft = new TimeLeft
    private var fit = start

    override def report(rank: Int, progress: Progress): Unit = {
      val news = progress.finishedEpochs.map(EpochRecord.fromJson).map(epoch => epoch.epoch -> epoch)
      val known = fit.epochs.getOrElse(rank, SortedMap.empty[Int, EpochRecord])
      val epochs = if (news.isEmpty) fit.epochs else fit.epochs.updated(rank, known ++ news)
      become(
        if (rank == 0) fit.copy(latest = Some(progress), secondsLeft = timeLeft.of(progress), epochs = epochs)
        else fit.copy(epochs = epochs))
    }

    override def say(text: String): Unit = become(fit.copy(events = fit.events :+ text))

    override def end(failure: Option[Throwable]): Unit =
      become(
        fit.copy(
          endedAt = Some(System.currentTimeMillis()),
          failure = failure.map(error => Option(error.getMessage).getOrElse(error.toString)),
          secondsLeft = None))

    private def become(next: LiveFit): Unit = {
      replace(fit, next)
      fit = next
    }
  }
}
