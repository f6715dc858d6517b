package io.bloomery.network

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json
import io.bloomery.network.Setting.Default

/**
 * A layer as the network's JSON has it, with Keras's names. Nothing is checked here: the engine
 * knows each kind, its options and their defaults.
 */
sealed abstract class Layer(kind: String) extends Product with Serializable {
  def name: Setting[String]
  protected def options: Seq[(String, Any)]

  private[network] def toJson: ObjectNode =
    Json.obj(("kind" -> kind) +: ("name" -> name.toOption) +: options: _*)

  /** One number stays a number, a pair becomes a list, as the user wrote it. */
  protected def json(size: Size): Any = if (size.sides.size == 1) size.sides.head else size.sides
}

/** The features of one sample; `dtype` is what a binary column holds, `scale` multiplies it. */
final case class Input(
    shape: Shape,
    dtype: Setting[String] = Default,
    scale: Setting[Double] = Default,
    name: Setting[String] = Default)
    extends Layer("Input") {
  override protected def options: Seq[(String, Any)] =
    Seq("shape" -> shape.dimensions, "dtype" -> dtype.toOption, "scale" -> scale.toOption)
}

/** Two-dimensional convolution, channels last. */
final case class Conv2D(
    filters: Int,
    kernelSize: Size,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    activation: Setting[String] = Default,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    biasInitializer: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer("Conv2D") {
  override protected def options: Seq[(String, Any)] = Seq(
    "filters" -> filters,
    "kernelSize" -> json(kernelSize),
    "strides" -> strides.toOption.map(json),
    "padding" -> padding.toOption,
    "activation" -> activation.toOption,
    "useBias" -> useBias.toOption,
    "kernelInitializer" -> kernelInitializer.toOption,
    "biasInitializer" -> biasInitializer.toOption)
}

/** The largest value of each window. */
final case class MaxPool2D(
    poolSize: Setting[Size] = Default,
    strides: Setting[Size] = Default,
    padding: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer("MaxPool2D") {
  override protected def options: Seq[(String, Any)] = Seq(
    "poolSize" -> poolSize.toOption.map(json),
    "strides" -> strides.toOption.map(json),
    "padding" -> padding.toOption)
}

/** Sets a share of the values to zero while training. */
final case class Dropout(rate: Double, name: Setting[String] = Default) extends Layer("Dropout") {
  override protected def options: Seq[(String, Any)] = Seq("rate" -> rate)
}

/** All values of a sample in one row. */
final case class Flatten(name: Setting[String] = Default) extends Layer("Flatten") {
  override protected def options: Seq[(String, Any)] = Seq.empty
}

/** A fully connected layer. */
final case class Dense(
    units: Int,
    activation: Setting[String] = Default,
    useBias: Setting[Boolean] = Default,
    kernelInitializer: Setting[String] = Default,
    biasInitializer: Setting[String] = Default,
    name: Setting[String] = Default)
    extends Layer("Dense") {
  override protected def options: Seq[(String, Any)] = Seq(
    "units" -> units,
    "activation" -> activation.toOption,
    "useBias" -> useBias.toOption,
    "kernelInitializer" -> kernelInitializer.toOption,
    "biasInitializer" -> biasInitializer.toOption)
}

/** An activation function by its Keras name. */
final case class Activation(function: String, name: Setting[String] = Default)
    extends Layer("Activation") {
  override protected def options: Seq[(String, Any)] = Seq("function" -> function)
}

/** `Activation("relu")`. */
final case class ReLU(name: Setting[String] = Default) extends Layer("ReLU") {
  override protected def options: Seq[(String, Any)] = Seq.empty
}

/** `Activation("softmax")`. */
final case class Softmax(name: Setting[String] = Default) extends Layer("Softmax") {
  override protected def options: Seq[(String, Any)] = Seq.empty
}
