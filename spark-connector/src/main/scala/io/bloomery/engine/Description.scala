package io.bloomery.engine

/** What the engine says about a task before it runs. */
final case class Description(json: String) {
  private val node = Json.parse(json, "description")

  def summary: String = node.path("summary").asText()
  def parameters: Long = node.path("parameters").asLong()
  def classes: Int = node.path("output").path("classes").asInt()
  def rowBytes: Long = node.path("input").path("rowBytes").asLong()
  def epochs: Int = node.path("training").path("epochs").asInt()
}
