package io.bloomery.network

import io.bloomery.network.Setting.Default

/** The largest value of each window of (steps, channels). */
final case class MaxPool1D(
    poolSize: Setting[Size] = Default,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer

/** The largest value of each window of (height, width, channels). */
final case class MaxPool2D(
    poolSize: Setting[Size] = Default,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer

/** The mean of each window of (steps, channels). */
final case class AveragePool1D(
    poolSize: Setting[Size] = Default,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer

/** The mean of each window of (height, width, channels). */
final case class AveragePool2D(
    poolSize: Setting[Size] = Default,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer

/** The largest value of each channel of (steps, channels). */
final case class GlobalMaxPool1D(name: Setting[String] = Default) extends Layer

/** The largest value of each channel of (height, width, channels). */
final case class GlobalMaxPool2D(name: Setting[String] = Default) extends Layer

/** The mean of each channel of (steps, channels). */
final case class GlobalAveragePool1D(name: Setting[String] = Default) extends Layer

/** The mean of each channel of (height, width, channels). */
final case class GlobalAveragePool2D(name: Setting[String] = Default) extends Layer
