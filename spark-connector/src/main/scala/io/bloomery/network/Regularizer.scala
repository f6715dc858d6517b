package io.bloomery.network

import io.bloomery.network.Setting.Default

/**
 * What is added to the loss for the size of a layer's weights: `l1` times the sum of their sizes
 * plus `l2` times the sum of their squares, as Keras counts it.
 */
final case class Regularizer(l1: Setting[Double] = Default, l2: Setting[Double] = Default)

object L1 {
  def apply(l1: Double): Regularizer = Regularizer(l1 = l1)
}

object L2 {
  def apply(l2: Double): Regularizer = Regularizer(l2 = l2)
}

object L1L2 {
  def apply(l1: Double, l2: Double): Regularizer = Regularizer(l1, l2)
}
