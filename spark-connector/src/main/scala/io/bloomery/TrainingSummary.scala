package io.bloomery

import io.bloomery.engine.Json
import org.apache.spark.bloomery.{FitEvent, Timeline}
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
  def apply(
      workerHistory: Seq[Seq[String]],
      totalSeconds: Double,
      numWorkers: Int,
      timeline: Timeline,
      input: String,
      events: Seq[FitEvent] = Seq.empty): TrainingSummary =
    new TrainingSummary(
      Json
        .obj(
          "seconds" -> totalSeconds,
          "workers" -> numWorkers,
          "input" -> input,
          "events" -> events.map(event => Json.obj("seconds" -> event.seconds, "text" -> event.text)),
          "epochs" -> workerHistory.headOption.toSeq.flatten.map(Json.parse(_, "epoch")),
          "workerEpochs" -> workerHistory.map(_.map(Json.parse(_, "epoch"))))
        .toString,
      timeline)

  /** Of a network that was trained elsewhere. */
  def none: TrainingSummary = apply(Seq.empty, 0, 0, Timeline.empty, "none")

  def fromJson(json: String): TrainingSummary = new TrainingSummary(json, Timeline.empty)
}
