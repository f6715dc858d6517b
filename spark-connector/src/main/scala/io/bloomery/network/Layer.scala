package io.bloomery.network

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json

/**
 * A layer as the network's JSON has it, with Keras's names: its kind is the class's name, its
 * options are the fields. Nothing is checked here: the engine knows each kind, its options and their
 * defaults. In a `Sequential` layers stand in a row; for a `Model` they are called:
 * `val h = Dense(8, activation = "relu")(x)`.
 */
abstract class Layer private[network] extends Product with Serializable {
  def name: Setting[String]

  /** The layer's output for an Input or another layer's output, or for several of them. */
  def apply(inputs: Tensor*): Tensor = new Output(this, inputs)

  private[network] def kind: String = productPrefix

  private[network] def options: Seq[(String, Any)] =
    productElementNames.zip(productIterator).filter(_._1 != "name").toSeq

  private[network] def toJson: ObjectNode = toJson(name.toOption)

  private[network] def toJson(name: Option[String], more: (String, Any)*): ObjectNode =
    Json.obj(Seq("kind" -> kind, "name" -> name) ++ options.map { case (key, value) =>
      key -> Layer.plain(value)
    } ++ more: _*)
}

private object Layer {

  /** A value as the JSON has it: one number stays a number, a pair becomes a list. */
  def plain(value: Any): Any = value match {
    case setting: Setting[_] => setting.toOption.map(plain)
    case Size(Seq(side)) => side
    case Size(sides) => sides
    case Shape(dimensions) => dimensions
    case Margins(json) => json
    case Regularizer(l1, l2) => Json.obj("l1" -> l1.toOption, "l2" -> l2.toOption)
    case other => other
  }
}

/** What a layer gives when it is called: an output inside a network that is still being described. */
trait Tensor {
  private[network] def layer: Layer
  private[network] def inputs: Seq[Tensor]
}

private final class Output(val layer: Layer, val inputs: Seq[Tensor]) extends Tensor
