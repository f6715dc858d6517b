package org.apache.spark.bloomery

import scala.collection.mutable

import io.bloomery.engine.{Json, NativePredictor}

/**
 * One predictor per executor JVM and model: the first task opens it, all tasks share it, the last
 * one to end closes it.
 */
private[spark] object PredictorCache {
  private final class Entry(val predictor: NativePredictor, var users: Int)
  private final case class Key(modelId: String, task: String, threads: Int)
  private val entries = mutable.Map.empty[Key, Entry]

  /** Each call of the predictor uses this many threads. Pair with `release`. */
  def acquire(spec: PredictSpec, threads: Int): NativePredictor = synchronized {
    val entry = entries.getOrElseUpdate(
      key(spec, threads),
      new Entry(NativePredictor.open(withThreads(spec.task, threads), spec.weights.value), 0))
    entry.users += 1
    entry.predictor
  }

  def release(spec: PredictSpec, threads: Int): Unit = synchronized {
    entries.get(key(spec, threads)).foreach { entry =>
      entry.users -= 1
      if (entry.users == 0) {
        entries -= key(spec, threads)
        entry.predictor.close()
      }
    }
  }

  def size: Int = synchronized(entries.size)

  private def key(spec: PredictSpec, threads: Int): Key = Key(spec.modelId, spec.task, threads)

  /** The engine's task for tasks of so many cores. */
  def withThreads(task: String, threads: Int): String = {
    val json = Json.parse(task, "task")
    json.withObject("/worker").put("threads", threads)
    json.toString
  }
}
