package org.apache.spark.bloomery

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorRemoved}

/** Tells of executors that Spark loses while it is open: often Spark ends their peers before those can tell. */
private[bloomery] final class ExecutorWatch(context: SparkContext, lost: (String, String) => Unit)
    extends AutoCloseable {
  private val listener = new SparkListener {
    override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit =
      lost(removed.executorId, removed.reason.linesIterator.nextOption().getOrElse(""))
  }
  context.addSparkListener(listener)

  override def close(): Unit = context.removeSparkListener(listener)
}
