package org.apache.spark.bloomery

import org.apache.spark.TaskContext

/**
 * Calls `onKill` once when Spark kills the task, even while the task thread waits inside the
 * engine or upstream. Its thread ends with `close`.
 */
private[bloomery] final class KillWatch(context: TaskContext, onKill: () => Unit)
    extends AutoCloseable {
  @volatile private var watching = true

  private val thread = new Thread(() => watch(), s"${KillWatch.ThreadName}-${context.partitionId()}")
  thread.setDaemon(true)
  thread.start()

  override def close(): Unit = {
    watching = false
    thread.interrupt()
    thread.join()
  }

  private def watch(): Unit =
    try {
      while (watching && !context.isInterrupted()) Thread.sleep(KillWatch.PollMillis)
      if (watching) onKill()
    } catch { case _: InterruptedException => () }
}

private[bloomery] object KillWatch {
  val ThreadName = "bloomery-kill-watch"
  private val PollMillis = 50L
}
