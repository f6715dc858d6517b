package io.bloomery.network

import io.bloomery.network.Setting.Default

/** The features of one sample; `dtype` is what a binary column holds, `scale` multiplies it. */
final case class Input(
    shape: Shape,
    dtype: Setting[String] = Default,
    scale: Setting[Double] = Default,
    name: Setting[String] = Default)
    extends Layer
    with Tensor {
  override private[network] def layer: Layer = this
  override private[network] def inputs: Seq[Tensor] = Seq.empty
}

/** A fully connected layer, over the last axis. */
final case class Dense(
    units: Int,
    activation: Setting[String] = Default,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    biasInitializer: Setting[String] = Default,
    kernelRegularizer: Setting[Regularizer] = Default,
    biasRegularizer: Setting[Regularizer] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** Turns indices (steps) into vectors; with `maskZero` steps of index 0 are skipped behind. */
final case class Embedding(
    inputDim: Int,
    outputDim: Int,
    embeddingsInitializer: Setting[String] = Default,
    embeddingsRegularizer: Setting[Regularizer] = Default,
    maskZero: Setting[Boolean] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** Sets a share of the values to zero while training. */
final case class Dropout(rate: Double, name: Setting[String] = Default) extends Layer

/** Every value times `scale`, plus `offset`. */
final case class Rescaling(
    scale: Double,
    offset: Setting[Double] = Default,
    name: Setting[String] = Default)
    extends Layer
