package io.bloomery

import io.bloomery.engine.Json
import scala.jdk.CollectionConverters._

/** How a fit went, as `history.json` of a model folder keeps it. */
final class TrainingSummary private (json: String) {
  private val node = Json.parse(json, "history")

  /** The epochs in order. */
  val history: Seq[EpochRecord] =
    node.path("epochs").elements().asScala.map(epoch => EpochRecord.fromJson(epoch.toString)).toSeq

  /** From the call of fit to its end. */
  def totalSeconds: Double = node.path("seconds").asDouble()

  def numWorkers: Int = node.path("workers").asInt()

  def toJson: String = json
}

object TrainingSummary {
  def apply(history: Seq[String], totalSeconds: Double, numWorkers: Int): TrainingSummary =
    new TrainingSummary(
      Json
        .obj(
          "seconds" -> totalSeconds,
          "workers" -> numWorkers,
          "epochs" -> history.map(Json.parse(_, "epoch")))
        .toString)

  def fromJson(json: String): TrainingSummary = new TrainingSummary(json)
}
