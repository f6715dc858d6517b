package io.bloomery.network

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.{Description, Engine, Json}

/** A network as its JSON; whether it makes sense is the engine's to say. */
final class Network private (json: ObjectNode) {

  def toJson: String = json.toString

  /** The engine's table of layers, shapes and parameters. */
  def summary(): String = describe().summary

  /** How many numbers the network has, trained ones and running statistics. */
  def parameters: Long = describe().parameters

  override def equals(other: Any): Boolean = other match {
    case network: Network => network.toJson == toJson
    case _ => false
  }

  override def hashCode: Int = toJson.hashCode

  override def toString: String = toJson

  private[bloomery] def describe(): Description = Engine.describe(Json.obj("network" -> json).toString)
}

object Network {
  private[network] def of(
      name: Option[String],
      layers: Seq[ObjectNode],
      more: (String, Any)*): Network =
    new Network(
      Json.obj(
        Seq(
          "format" -> "bloomery-network",
          "version" -> 1,
          "name" -> name,
          "layers" -> layers) ++ more: _*))

  def fromJson(json: String): Network = new Network(Json.parse(json, "network"))
}

/** Layers one after the other. */
object Sequential {
  def apply(layers: Layer*): Network = Network.of(None, layers.map(_.toJson))

  def apply(name: String)(layers: Layer*): Network = Network.of(Some(name), layers.map(_.toJson))
}
