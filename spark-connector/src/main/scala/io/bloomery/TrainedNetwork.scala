package io.bloomery

import io.bloomery.network.Network

/** What comes of a fit: the network, its weights as safetensors, and how the training went. */
private[bloomery] final case class TrainedNetwork(network: Network, weights: Array[Byte], summary: TrainingSummary)
