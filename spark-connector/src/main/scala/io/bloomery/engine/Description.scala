package io.bloomery.engine

import scala.jdk.CollectionConverters._

/** What the engine says about a task before it runs. */
final case class Description(json: String) {
  private val node = Json.parse(json, "description")

  def summary: String = node.path("summary").asText()
  def parameters: Long = node.path("parameters").asLong()
  def classes: Int = if (isBinary) 2 else node.path("output").path("classes").asInt()
  def rowBytes: Long = input.rowBytes
  def epochs: Int = node.path("training").path("epochs").asInt()
  def batchSize: Int = node.path("training").path("batchSize").asInt()
  def globalBatchSize: Option[Int] =
    Option(node.path("training").get("globalBatchSize")).map(_.asInt())

  /** Rows that the first epoch draws from. */
  def shuffleBuffer: Long = node.path("shuffleBuffer").asLong()

  /** Why all rows are loaded before the first step; nothing where training begins while they come. */
  def loadsFirst: Option[String] = Option(node.get("loadsFirst")).map(_.asText())

  /** One sigmoid, which tells the probability of class 1. */
  def isBinary: Boolean = {
    val output = node.path("output")
    output.path("classes").asInt() == 1 && output.path("tail").asText() == "sigmoid"
  }

  /** Of one worker, without its rows. */
  def memoryBytes: Long = node.path("memory").path("total").asLong()
  def memoryParts: Seq[(String, Long)] =
    node.path("memory").properties().asScala.toSeq.collect {
      case part if part.getKey != "total" => part.getKey -> part.getValue.asLong()
    }

  def input: Description.Input = {
    val input = node.path("input")
    Description.Input(
      input.path("name").asText(),
      input.path("shape").elements().asScala.map(_.asLong()).toSeq,
      input.path("dtype").asText(),
      input.path("scale").asDouble(),
      input.path("rowBytes").asLong())
  }
}

object Description {
  final case class Input(name: String, shape: Seq[Long], dtype: String, scale: Double, rowBytes: Long)
}
