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

/**
 * Each feature by its mean and variance: given, or those of the rows of training, which are then
 * loaded before the first step. `axis` has a mean for each index; an empty one: one mean for all.
 */
final case class Normalization(
    axis: Setting[Seq[Int]] = Default,
    mean: Setting[Seq[Double]] = Default,
    variance: Setting[Seq[Double]] = Default,
    name: Setting[String] = Default)
    extends Layer
