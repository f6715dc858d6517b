package org.apache.spark.bloomery

import java.util.UUID

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast

/**
 * What a prediction task needs: the engine's task, how many values the network gives for a row, and weights that each
 * executor gets once.
 */
final case class PredictSpec(
    modelId: String,
    task: String,
    rowWidth: Int,
    rowBytes: Long,
    weights: Broadcast[Array[Byte]])

/** A model's weights as its executors share them; broadcast when a context first asks. */
final class SharedModel(weights: Array[Byte], rowWidth: Int, rowBytes: Long) {
  private val id = UUID.randomUUID().toString
  private var sent: Option[(SparkContext, Broadcast[Array[Byte]])] = None

  def spec(task: String, context: SparkContext): PredictSpec =
    PredictSpec(id, task, rowWidth, rowBytes, broadcast(context))

  private def broadcast(context: SparkContext): Broadcast[Array[Byte]] = synchronized {
    sent match {
      case Some((owner, broadcast)) if owner eq context => broadcast
      case _ =>
        val broadcast = context.broadcast(weights)
        sent = Some((context, broadcast))
        broadcast
    }
  }
}
