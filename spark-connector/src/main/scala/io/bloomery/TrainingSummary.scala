package io.bloomery

import io.bloomery.engine.Json
import org.apache.spark.bloomery.{FitEvent, Timeline, TrainOutcome}
import org.apache.spark.ml.util.Identifiable
import scala.jdk.CollectionConverters._

/**
 * How a fit went, as `history.json` of a model folder keeps it. It has a uid because of what has one a client of Spark
 * Connect may ask the text, which is its JSON.
 */
final class TrainingSummary private (json: String, timeline: Timeline) extends Identifiable {
  override val uid: String = Identifiable.randomUID("trainingSummary")
  private val node = Json.parse(json, "history")

  /** The epochs in order. */
  val history: Seq[EpochRecord] =
    node.path("epochs").elements().asScala.map(epoch => EpochRecord.fromJson(epoch.toString)).toSeq

  /** The same as each worker saw it, by rank: `history` is that of the first. */
  val workerHistory: Seq[Seq[EpochRecord]] =
    node.path("workerEpochs").elements().asScala.map { epochs =>
      epochs.elements().asScala.map(epoch => EpochRecord.fromJson(epoch.toString)).toSeq
    }.toSeq

  /** From the call of fit to its end. */
  def totalSeconds: Double = node.path("seconds").asDouble()

  /**
   * What the fit took, by phase in order: `preparing` on the driver, `starting` the workers till they had met, `loading`
   * rows before the first step, `training`, `validation`, and `returning` the model. Of fits that share their rows each
   * counts the others before it as `starting`. Models that were saved before there were phases have none.
   */
  def phases: Seq[(String, Double)] =
    node.path("phases").properties().asScala.toSeq.map(phase => phase.getKey -> phase.getValue.asDouble())

  def numWorkers: Int = node.path("workers").asInt()

  /** Which way the rows came, "parquet" (read by the engine itself) or "rows", and why. */
  def input: String = node.path("input").asText()

  /** What happened on the way, such as a lost worker or a checkpoint that was gone on from. */
  val events: Seq[FitEvent] = node.path("events").elements().asScala.map { event =>
    FitEvent(event.path("seconds").asDouble(), event.path("text").asText())
  }.toSeq

  def toJson: String = json

  override def toString: String = toJson

  /**
   * What the workers' threads did, by one clock, for chrome://tracing or Perfetto; a worker is a process. The last few
   * thousand spans of each, or with traceDir what its file has. It is not saved with the model.
   */
  def trace: String = timeline.toJson
}

object TrainingSummary {

  /** Of a fit from `began` to `ended`, in microseconds of the driver's clock. */
  private[bloomery] def apply(outcome: TrainOutcome, numWorkers: Int, began: Long, ended: Long): TrainingSummary = {
    val epochs = outcome.workerHistory.headOption.toSeq.flatten.map(EpochRecord.fromJson)
    val phases = outcome.times.phases(began, ended, epochs.map(_.seconds).sum, epochs.map(_.validationSeconds).sum)
    new TrainingSummary(
      Json
        .obj(
          "seconds" -> (ended - began) / 1e6,
          "phases" -> Json.obj(phases: _*),
          "workers" -> numWorkers,
          "input" -> outcome.input,
          "events" -> outcome.events.map(event => Json.obj("seconds" -> event.seconds, "text" -> event.text)),
          "epochs" -> outcome.workerHistory.headOption.toSeq.flatten.map(Json.parse(_, "epoch")),
          "workerEpochs" -> outcome.workerHistory.map(_.map(Json.parse(_, "epoch"))))
        .toString,
      outcome.timeline)
  }

  /** Of a network that was trained elsewhere. */
  def none: TrainingSummary = fromJson("""{"seconds": 0, "phases": {}, "workers": 0, "input": "none", "epochs": []}""")

  def fromJson(json: String): TrainingSummary = new TrainingSummary(json, Timeline.empty)
}
