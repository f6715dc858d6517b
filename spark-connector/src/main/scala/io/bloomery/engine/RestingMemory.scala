package io.bloomery.engine

import java.util.concurrent.{CompletableFuture, TimeUnit}

import io.bloomery.jni.{Native, NativeLoader}

/**
 * The memory that closed trainers, scans, predictors and evaluators left: what follows soon fills it again,
 * which is faster than fresh memory of the system. Meanwhile the system takes of it what it needs, and
 * after a while it gets all of it.
 */
object RestingMemory {
  private val RestMillis = 30000L

  def bytes: Long = {
    NativeLoader.load()
    Native.restingBytes()
  }

  /** Gives back what rests now, unless it is taken before; by a thread of the JVM's own that runs only then. */
  private[engine] def returnLater(millis: Long = RestMillis): Unit =
    CompletableFuture
      .delayedExecutor(millis, TimeUnit.MILLISECONDS)
      .execute(() => Native.returnRestedMemory(millis))
}
