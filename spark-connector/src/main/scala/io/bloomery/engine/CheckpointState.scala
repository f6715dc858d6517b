package io.bloomery.engine

/** A copy of a training's state that waits to be written: where training goes on, and its bytes. */
final case class CheckpointState(json: String) {
  private val node = Json.parse(json, "checkpoint")

  /** The epoch that is under way. */
  def epoch: Long = node.path("epoch").asLong()

  /** Steps done of it; 0 between two epochs. */
  def step: Long = node.path("step").asLong()
  def finished: Boolean = node.path("finished").asBoolean()

  /** What all workers share; on rank 0 only. */
  def sharedBytes: Long = node.path("sharedBytes").asLong()
  def ownBytes: Long = node.path("ownBytes").asLong()
}
