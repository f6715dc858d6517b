package io.bloomery.engine

import java.nio.{ByteBuffer, ByteOrder}
import scala.jdk.CollectionConverters._

/** Numbers in rows of the last extent, as `shape` has them. */
final case class Tensor(shape: Seq[Long], values: Array[Float])

/** Weights out of the bytes of a model: eight bytes of header length, a JSON header, then the tensors. */
object Safetensors {
  private val LengthBytes = 8

  /** The tensors by name; the engine wrote them, as floats. */
  def read(bytes: Array[Byte]): Map[String, Tensor] = {
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    val length = buffer.getLong.toInt
    val header = Json.parse(new String(bytes, LengthBytes, length, "UTF-8"), "weights")
    header.properties().asScala.collect {
      case entry if entry.getKey != "__metadata__" =>
        val (tensor, offsets) = (entry.getValue, entry.getValue.path("data_offsets"))
        val values = new Array[Float]((offsets.path(1).asInt() - offsets.path(0).asInt()) / java.lang.Float.BYTES)
        buffer.position(LengthBytes + length + offsets.path(0).asInt()).asFloatBuffer().get(values)
        entry.getKey -> Tensor(tensor.path("shape").elements().asScala.map(_.asLong()).toSeq, values)
    }.toMap
  }
}
