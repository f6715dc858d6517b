package io.bloomery.engine

import io.bloomery.jni.{Native, NativeLoader}

/** The engine's Evaluator of one task's rows; used on the task thread. */
final class NativeEvaluator private (handle: Long) extends AutoCloseable {

  /** Measures the rows of a batch, given by addresses, which are consumed. */
  def add(arrowSchema: Long, arrowArray: Long, partition: Int, firstRow: Long): Unit =
    Native.evaluate(handle, arrowSchema, arrowArray, partition, firstRow)

  /** Of all rows so far; those of several evaluators add up. */
  def sums(): Array[Double] = Native.evaluatorSums(handle)

  override def close(): Unit = {
    Native.closeEvaluator(handle)
    RestingMemory.returnLater()
  }
}

object NativeEvaluator {
  def open(task: String, weights: Array[Byte]): NativeEvaluator = {
    NativeLoader.load()
    new NativeEvaluator(Native.openEvaluator(task, weights))
  }
}
