package io.bloomery.engine

import com.fasterxml.jackson.databind.node.ObjectNode
import scala.jdk.CollectionConverters._

/** What a trainer tells when polled. */
final case class Progress(json: String) {
  private val node = Json.parse(json, "progress")

  def state: String = node.path("state").asText()
  def isFinished: Boolean = state == "finished"

  /** It trains, and a first step is done: its numbers mean something. */
  def hasNumbers: Boolean = state == "training" && epoch > 0

  /** An epoch has ended, and the trainer waits to be told whether to go on. */
  def asks: Boolean = node.path("asks").asBoolean()
  def epoch: Int = node.path("epoch").asInt()
  def epochs: Int = node.path("epochs").asInt()
  def step: Long = node.path("step").asLong()
  def steps: Long = node.path("steps").asLong()
  def rows: Long = node.path("rows").asLong()
  def loss: Double = node.path("loss").asDouble()
  def samplesPerSecond: Double = node.path("samplesPerSecond").asDouble()

  /** The operation among the workers that is under way, empty when it computes; and since how many seconds. */
  def doing: String = node.path("doing").asText("")
  def doingSeconds: Double = node.path("doingSeconds").asDouble()

  /** What the epoch's steps took so far without waiting for other workers, and how many there were. */
  def ownSeconds: Double = node.path("ownSeconds").asDouble()
  def ownSteps: Long = node.path("ownSteps").asLong()

  def metrics: Seq[(String, Double)] =
    node.path("metrics").properties().asScala.toSeq.map(m => m.getKey -> m.getValue.asDouble())

  /** Epochs that ended since the last poll, each as JSON. */
  def finishedEpochs: Seq[String] = node.path("history").elements().asScala.map(_.toString).toSeq

  /** What the trainer's threads did since the last poll, each span as JSON. */
  def trace: Seq[String] = node.path("trace").elements().asScala.map(_.toString).toSeq

  /** When the spans' times begin, in microseconds of this machine's clock, which System.nanoTime reads, too. */
  def traceOriginMicros: Long = node.path("traceOriginMicros").asLong()

  /** Without what stays on the worker. */
  def forDriver: String = node.deepCopy().without[ObjectNode](List("trace").asJava).toString

  /** The engine's log lines since the last poll. */
  def log: Seq[String] = node.path("log").elements().asScala.map(_.asText()).toSeq
}
