package io.bloomery.network

import io.bloomery.network.Setting.Default

/** A convolution over (height, width, channels). */
final case class Conv2D(
    filters: Int,
    kernelSize: Size,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    dilationRate: Setting[Size] = Default,
    groups: Setting[Int] = Default,
    activation: Setting[String] = Default,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    biasInitializer: Setting[String] = Default,
    kernelRegularizer: Setting[Regularizer] = Default,
    biasRegularizer: Setting[Regularizer] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** A convolution over (steps, channels). */
final case class Conv1D(
    filters: Int,
    kernelSize: Size,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    dilationRate: Setting[Size] = Default,
    groups: Setting[Int] = Default,
    activation: Setting[String] = Default,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    biasInitializer: Setting[String] = Default,
    kernelRegularizer: Setting[Regularizer] = Default,
    biasRegularizer: Setting[Regularizer] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer

/** A convolution of each channel of (height, width, channels) by itself. */
final case class DepthwiseConv2D(
    kernelSize: Size,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    depthMultiplier: Setting[Int] = Default,
    dilationRate: Setting[Size] = Default,
    activation: Setting[String] = Default,
    useBias: Setting[Boolean] = Default,
    depthwiseInitializer: Setting[String] = Default,
    biasInitializer: Setting[String] = Default,
    depthwiseRegularizer: Setting[Regularizer] = Default,
    biasRegularizer: Setting[Regularizer] = Default,
    trainable: Setting[Boolean] = Default,
    name: Setting[String] = Default)
    extends Layer
