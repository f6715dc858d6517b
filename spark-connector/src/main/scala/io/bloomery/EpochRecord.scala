package io.bloomery

import com.fasterxml.jackson.databind.JsonNode
import io.bloomery.engine.Json
import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

/**
 * One finished epoch: what Keras's History keeps over all workers, and what one worker did: its rows,
 * their bytes, how many it had taken in when the epoch's first step began, and seconds in which it
 * read rows (upstream, or back from disk), converted and assembled them, waited for batches,
 * computed and reduced. Most of these overlap: of the seconds in which gradients were on their way,
 * computing waited for those that are exposed and hid the others. Then come the bytes that it sent to
 * other workers, how many messages of 16 bits (gradientCompression) had to be reduced again in 32, the
 * most memory that the worker's process had held by then (the executor's JVM with it), why training
 * ended with this epoch if it ended early, and all of it as JSON.
 */
final case class EpochRecord(
    epoch: Int,
    loss: Double,
    metrics: Map[String, Double],
    validationLoss: Option[Double],
    validationMetrics: Map[String, Double],
    learningRate: Double,
    samples: Long,
    steps: Long,
    seconds: Double,
    validationSeconds: Double,
    rows: Long,
    bytes: Long,
    rowsAtStart: Long,
    readSeconds: Double,
    convertSeconds: Double,
    waitSeconds: Double,
    assembleSeconds: Double,
    computeSeconds: Double,
    allreduceSeconds: Double,
    exposedAllreduceSeconds: Double,
    hiddenAllreduceSeconds: Double,
    bytesSent: Long,
    reducedAgain: Long,
    peakMemoryBytes: Long,
    stops: Option[String],
    json: String) {

  /** Over all workers. */
  def samplesPerSecond: Double = if (seconds > 0) samples / seconds else 0.0
}

object EpochRecord {
  def fromJson(json: String): EpochRecord = {
    val node = Json.parse(json, "epoch")
    val validation = node.path("validation")
    EpochRecord(
      epoch = node.path("epoch").asInt(),
      loss = node.path("loss").asDouble(),
      metrics = numbers(node.path("metrics")),
      validationLoss = Option.when(validation.has("loss"))(validation.path("loss").asDouble()),
      validationMetrics = numbers(validation.path("metrics")),
      learningRate = node.path("learningRate").asDouble(),
      samples = node.path("samples").asLong(),
      steps = node.path("steps").asLong(),
      seconds = node.path("seconds").asDouble(),
      validationSeconds = node.path("validationSeconds").asDouble(),
      rows = node.path("rows").asLong(),
      bytes = node.path("bytes").asLong(),
      rowsAtStart = node.path("rowsAtStart").asLong(),
      readSeconds = node.path("readSeconds").asDouble(),
      convertSeconds = node.path("convertSeconds").asDouble(),
      waitSeconds = node.path("waitSeconds").asDouble(),
      assembleSeconds = node.path("assembleSeconds").asDouble(),
      computeSeconds = node.path("computeSeconds").asDouble(),
      allreduceSeconds = node.path("allreduceSeconds").asDouble(),
      exposedAllreduceSeconds = node.path("exposedAllreduceSeconds").asDouble(),
      hiddenAllreduceSeconds = node.path("hiddenAllreduceSeconds").asDouble(),
      bytesSent = node.path("bytesSent").asLong(),
      reducedAgain = node.path("reducedAgain").asLong(),
      peakMemoryBytes = node.path("peakMemoryBytes").asLong(),
      stops = Option(node.get("stops")).map(_.asText()),
      json = json)
  }

  /** In the order of the engine's, so that all who show them have the same. */
  private def numbers(node: JsonNode): Map[String, Double] =
    VectorMap.from(node.properties().asScala.toSeq.map(entry => entry.getKey -> entry.getValue.asDouble()))
}
