package io.bloomery.engine

import com.fasterxml.jackson.databind.JsonNode
import scala.jdk.CollectionConverters._

/** What the engine says about a task before it runs. */
final case class Description(json: String) {
  private val node = Json.parse(json, "description")

  def summary: String = node.path("summary").asText()
  def parameters: Long = node.path("parameters").asLong()
  def classes: Int = if (isBinary) 2 else outputs.head.width

  /** Of the features of all inputs. */
  def rowBytes: Long = inputs.map(_.rowBytes).sum
  def epochs: Int = node.path("training").path("epochs").asInt()
  def batchSize: Int = node.path("training").path("batchSize").asInt()
  def globalBatchSize: Option[Int] =
    Option(node.path("training").get("globalBatchSize")).map(_.asInt())

  /** Rows that the first epoch draws from. */
  def shuffleBuffer: Long = node.path("shuffleBuffer").asLong()

  /** Why all rows are loaded before the first step; nothing where training begins while they come. */
  def loadsFirst: Option[String] = Option(node.get("loadsFirst")).map(_.asText())

  /** All that the rows of a worker depend on; trainings for which it is equal may share them. */
  def kindOfRows: String = node.path("kindOfRows").asText()

  /** One sigmoid, which tells the probability of class 1. */
  def isBinary: Boolean = outputs.head.isBinary

  /** The largest batch of a worker within the task's memoryBudget. */
  def largestBatchSize: Option[Long] = Option(node.get("largestBatchSize")).map(_.asLong())

  /** Of one worker, without its rows. */
  def memoryBytes: Long = node.path("memory").path("total").asLong()
  def memoryParts: Seq[(String, Long)] =
    node.path("memory").properties().asScala.toSeq.collect {
      case part if part.getKey != "total" => part.getKey -> part.getValue.asLong()
    }

  def inputs: Seq[Description.Input] = node.path("inputs").elements().asScala.toSeq.map { input =>
    Description.Input(
      input.path("name").asText(),
      Description.shape(input),
      input.path("dtype").asText(),
      input.path("scale").asDouble(),
      input.path("rowBytes").asLong())
  }

  def outputs: Seq[Description.Output] = node.path("outputs").elements().asScala.toSeq.map { output =>
    Description.Output(output.path("name").asText(), Description.shape(output), output.path("tail").asText())
  }
}

object Description {
  final case class Input(name: String, shape: Seq[Long], dtype: String, scale: Double, rowBytes: Long)

  /** `tail` is what the values went through last, such as softmax. */
  final case class Output(name: String, shape: Seq[Long], tail: String) {

    /** Values of a row. */
    def width: Int = shape.product.toInt
    def isBinary: Boolean = width == 1 && tail == "sigmoid"
  }

  private def shape(node: JsonNode): Seq[Long] = node.path("shape").elements().asScala.map(_.asLong()).toSeq
}
