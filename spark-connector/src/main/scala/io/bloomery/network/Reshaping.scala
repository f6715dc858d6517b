package io.bloomery.network

import io.bloomery.network.Setting.Default

/** All values of a sample in one row. */
final case class Flatten(name: Setting[String] = Default) extends Layer

/** The values of a sample in another shape; one extent may be -1: what is left over. */
final case class Reshape(targetShape: Shape, name: Setting[String] = Default) extends Layer

/** Zeros around an image: a number, (vertical, horizontal), or ((above, below), (left, right)). */
final case class ZeroPadding2D(padding: Margins, name: Setting[String] = Default) extends Layer
