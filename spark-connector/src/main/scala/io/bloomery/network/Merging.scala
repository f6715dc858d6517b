package io.bloomery.network

import io.bloomery.network.Setting.Default

/** The sum of several inputs, element by element: `Add()(a, b)`. */
final case class Add(name: Setting[String] = Default) extends Layer

/** The product of several inputs, element by element. */
final case class Multiply(name: Setting[String] = Default) extends Layer

/** Several inputs side by side on the last axis. */
final case class Concatenate(axis: Setting[Int] = Default, name: Setting[String] = Default)
    extends Layer
