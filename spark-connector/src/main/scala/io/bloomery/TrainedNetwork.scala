package io.bloomery

import io.bloomery.engine.Description
import io.bloomery.network.Network
import org.apache.spark.bloomery.SharedModel

/** What comes of a fit: the network, its weights as safetensors, and how the training went. */
private[bloomery] final case class TrainedNetwork(network: Network, weights: Array[Byte], summary: TrainingSummary) {
  lazy val description: Description = network.describe()

  /** The weights as executors get them: once for all copies of a model, of which some servers make one per transform. */
  lazy val shared: SharedModel =
    new SharedModel(weights, description.outputs.map(_.width).sum, description.rowBytes)
}

private[bloomery] object TrainedNetwork {
  def none: TrainedNetwork = TrainedNetwork(Network.fromJson("{}"), Array.emptyByteArray, TrainingSummary.none)
}
