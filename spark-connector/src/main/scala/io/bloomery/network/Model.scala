package io.bloomery.network

import scala.annotation.tailrec
import scala.collection.mutable

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.UserError
import io.bloomery.network.Setting.Default

/**
 * Layers as a graph: all that leads from the inputs, in this order, to the outputs.
 * {{{
 * val x = Input(4)
 * val h = Dense(8, activation = "relu")(x)
 * val network = Model(x, Dense(3, activation = "softmax")(Add()(h, Dense(8)(x))))
 * }}}
 * A layer that is called twice stands in the network twice and learns one set of parameters.
 */
object Model {
  def apply(input: Input, output: Tensor): Network = apply(Seq(input), Seq(output))

  def apply(input: Input, output: Tensor, name: String): Network =
    apply(Seq(input), Seq(output), name)

  def apply(
      inputs: Seq[Input],
      outputs: Seq[Tensor],
      name: Setting[String] = Default): Network = {
    val calls = new Calls(inputs, outputs)
    Network.of(name.toOption, calls.layers, "outputs" -> outputs.map(calls.name))
  }
}

/**
 * The calls of a network: the inputs, then what leads to the outputs, each behind what it takes.
 * Equal layers are not the same layer, so everything goes by identity.
 */
private final class Calls(inputs: Seq[Input], outputs: Seq[Tensor]) {
  private val all: Seq[Tensor] = {
    val done = mutable.LinkedHashSet.from(inputs.map(new Same[Tensor](_)))
    // Own stack: a network may be deep.
    @tailrec def add(stack: List[Tensor]): Unit = stack match {
      case tensor :: rest =>
        tensor.inputs.find(each => !done(new Same(each))) match {
          case Some(missing) => add(missing :: stack)
          case None =>
            done += new Same(tensor)
            add(rest)
        }
      case Nil =>
    }
    outputs.foreach(output => add(List(output)))
    done.toVector.map(_.value)
  }

  all.foreach {
    case input: Input if !inputs.exists(_ eq input) =>
      throw new UserError(s"Input is not among the inputs of the Model: $input, add it")
    case _ =>
  }

  /** The layer's own name for its first call, else made from it or from the kind as the engine does. */
  private val names: Map[Same[Tensor], String] = {
    val taken = mutable.Set.from(all.flatMap(_.layer.name.toOption))
    val called = mutable.Set.empty[Same[Layer]]
    val numbers = mutable.Map.empty[String, Iterator[Int]]
    def made(base: String): String =
      numbers
        .getOrElseUpdate(base, Iterator.from(0))
        .map(number => if (number == 0) base else s"${base}_$number")
        .find(taken.add)
        .get
    all.map { tensor =>
      val isFirst = called.add(new Same(tensor.layer))
      val own = tensor.layer.name.toOption
      val name = own.filter(_ => isFirst)
      new Same(tensor) -> name.getOrElse(made(own.getOrElse(Calls.snakeCase(tensor.layer.kind))))
    }.toMap
  }

  def name(tensor: Tensor): String = names(new Same(tensor))

  def layers: Seq[ObjectNode] = {
    val owners = mutable.Map.empty[Same[Layer], String]
    all.map { tensor =>
      val owner = owners.getOrElseUpdate(new Same(tensor.layer), name(tensor))
      tensor.layer.toJson(
        Some(name(tensor)),
        "inputs" -> Some(tensor.inputs.map(name)).filter(_ => !tensor.isInstanceOf[Input]),
        "sharedWith" -> Some(owner).filter(_ != name(tensor)))
    }
  }
}

private object Calls {
  def snakeCase(kind: String): String =
    kind.replace("ReLU", "Relu").replaceAll("(?<=[a-z])(?=[A-Z])", "_").toLowerCase
}

/** Equal to itself only, where a case class is equal to any other with its values. */
private final class Same[A <: AnyRef](val value: A) {
  override def equals(other: Any): Boolean = other match {
    case same: Same[_] => same.value eq value
    case _ => false
  }
  override def hashCode: Int = System.identityHashCode(value)
}
