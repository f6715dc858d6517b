package io.bloomery.network

import io.bloomery.network.Setting.Default

/** An activation function by its Keras name; softmax runs over the last axis. */
final case class Activation(function: String, name: Setting[String] = Default) extends Layer

/** `Activation("relu")`. */
final case class ReLU(name: Setting[String] = Default) extends Layer

/** ReLU that is not flat below zero. */
final case class LeakyReLU(
    negativeSlope: Setting[Double] = Default,
    name: Setting[String] = Default)
    extends Layer

/** ReLU that goes over to alpha * (exp(x) - 1) below zero. */
final case class ELU(alpha: Setting[Double] = Default, name: Setting[String] = Default)
    extends Layer

/** `Activation("softmax")`. */
final case class Softmax(name: Setting[String] = Default) extends Layer
