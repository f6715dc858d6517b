package org.apache.spark.bloomery

import scala.collection.mutable

import io.bloomery.engine.NativePredictor

/**
 * One predictor per executor JVM and model: the first task opens it, all tasks share it, the last
 * one to end closes it.
 */
private[spark] object PredictorCache {
  private final class Entry(val predictor: NativePredictor, var users: Int)
  private val entries = mutable.Map.empty[(String, String), Entry]

  /** Pair each call with one of `release`. */
  def acquire(spec: PredictSpec): NativePredictor = synchronized {
    val entry = entries.getOrElseUpdate(
      key(spec),
      new Entry(NativePredictor.open(spec.task, spec.weights.value), 0))
    entry.users += 1
    entry.predictor
  }

  def release(spec: PredictSpec): Unit = synchronized {
    entries.get(key(spec)).foreach { entry =>
      entry.users -= 1
      if (entry.users == 0) {
        entries -= key(spec)
        entry.predictor.close()
      }
    }
  }

  def size: Int = synchronized(entries.size)

  private def key(spec: PredictSpec): (String, String) = (spec.modelId, spec.task)
}
