package io.bloomery.network

import io.bloomery.network.Setting.Default

/** Each channel by mean and variance of the batch, or by their running means when it does not train. */
final case class BatchNormalization(
    momentum: Setting[Double] = Default,
    epsilon: Setting[Double] = Default,
    center: Setting[Boolean] = Default,
    scale: Setting[Boolean] = Default,
    synchronized: Setting[Boolean] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** Each sample, or step, by the mean and variance of its own values. */
final case class LayerNormalization(
    epsilon: Setting[Double] = Default,
    center: Setting[Boolean] = Default,
    scale: Setting[Boolean] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer
