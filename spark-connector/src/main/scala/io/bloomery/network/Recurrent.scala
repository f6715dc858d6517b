package io.bloomery.network

import io.bloomery.network.Setting.{Default, Value}

/** Long short-term memory: the last step's output, or all of them with `returnSequences`. */
final case class LSTM(
    units: Int,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    recurrentInitializer: Setting[String] = Default,
    unitForgetBias: Setting[Boolean] = Default,
    kernelRegularizer: Setting[Regularizer] = Default,
    returnSequences: Setting[Boolean] = Default,
    goBackwards: Setting[Boolean] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** Gated recurrent units: the last step's output, or all of them with `returnSequences`. */
final case class GRU(
    units: Int,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    recurrentInitializer: Setting[String] = Default,
    kernelRegularizer: Setting[Regularizer] = Default,
    returnSequences: Setting[Boolean] = Default,
    goBackwards: Setting[Boolean] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** An LSTM or a GRU and a second one that reads backwards, their outputs side by side. */
final case class Bidirectional(wrapped: Layer, name: Setting[String]) extends Layer {
  override private[network] def kind: String = wrapped.kind

  override private[network] def options: Seq[(String, Any)] =
    wrapped.options :+ ("bidirectional" -> Value(true))
}

object Bidirectional {
  def apply(wrapped: Layer): Bidirectional = Bidirectional(wrapped, wrapped.name)
}
