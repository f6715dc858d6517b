package io.bloomery.engine

import io.bloomery.jni.{Native, NativeLoader}

/** The engine's Predictor of one model, which any number of tasks may use at once. */
final class NativePredictor private (handle: Long) extends AutoCloseable {

  /** Fills two arrays of rows times classes floats, given by address. */
  def predict(
      arrowSchema: Long,
      arrowArray: Long,
      partition: Int,
      firstRow: Long,
      raw: Long,
      probability: Long): Unit =
    Native.predict(handle, arrowSchema, arrowArray, partition, firstRow, raw, probability)

  override def close(): Unit = {
    Native.closePredictor(handle)
    RestingMemory.returnLater()
  }
}

object NativePredictor {
  def open(task: String, weights: Array[Byte]): NativePredictor = {
    NativeLoader.load()
    new NativePredictor(Native.openPredictor(task, weights))
  }
}
