package org.apache.spark.bloomery

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32C

/** The two messages of TensorBoard's event files that we write, and the frame around each. */
private[bloomery] object TensorBoardEvent {

  /** The first event of every file. */
  def version(seconds: Double): Array[Byte] =
    message(_.double(1, seconds).bytes(3, "brain.Event:2".getBytes(UTF_8)))

  def scalars(seconds: Double, step: Long, values: Seq[(String, Float)]): Array[Byte] = {
    val summary = message { out =>
      values.foreach { case (tag, value) =>
        out.bytes(1, message(_.bytes(1, tag.getBytes(UTF_8)).float(2, value)))
      }
      out
    }
    message(_.double(1, seconds).varint(2, step).bytes(5, summary))
  }

  /** Length and content, each followed by its checksum. */
  def record(event: Array[Byte]): Array[Byte] = {
    val length = littleEndian(8).putLong(event.length.toLong).array()
    littleEndian(16 + event.length).put(length).putInt(masked(length)).put(event).putInt(masked(event)).array()
  }

  /** Turned and moved, since a checksum of data that holds checksums says little. */
  private def masked(bytes: Array[Byte]): Int = {
    val checksum = new CRC32C
    checksum.update(bytes)
    Integer.rotateRight(checksum.getValue.toInt, 15) + 0xa282ead8
  }

  private def littleEndian(size: Int): ByteBuffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)

  private def message(write: Message => Message): Array[Byte] = write(new Message).toBytes

  /** Fields in the encoding of protocol buffers. */
  private final class Message {
    private val out = new ByteArrayOutputStream

    def varint(field: Int, value: Long): Message = key(field, 0).number(value)
    def double(field: Int, value: Double): Message = key(field, 1).raw(littleEndian(8).putDouble(value).array())
    def bytes(field: Int, value: Array[Byte]): Message = key(field, 2).number(value.length.toLong).raw(value)
    def float(field: Int, value: Float): Message = key(field, 5).raw(littleEndian(4).putFloat(value).array())
    def toBytes: Array[Byte] = out.toByteArray

    private def key(field: Int, wire: Int): Message = number((field << 3 | wire).toLong)

    private def number(value: Long): Message = {
      var rest = value
      while ((rest & ~0x7fL) != 0) {
        out.write((rest & 0x7f | 0x80).toInt)
        rest >>>= 7
      }
      out.write(rest.toInt)
      this
    }

    private def raw(bytes: Array[Byte]): Message = {
      out.write(bytes)
      this
    }
  }
}
