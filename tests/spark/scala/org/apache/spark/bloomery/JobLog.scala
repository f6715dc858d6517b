package org.apache.spark.bloomery

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.SparkContext
import org.apache.spark.scheduler._

/** Counts what Spark runs. */
object JobLog {

  /** `barrierTasks` are those of stages that start all tasks together: ours. */
  final case class Counts(jobs: Long, barrierTasks: Long, barrierShuffleBytesRead: Long)

  def count[T](context: SparkContext)(body: => T): (T, Counts) = {
    val jobs, tasks, bytes = new AtomicLong
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit = { jobs.incrementAndGet(); () }
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        if (barrierStages.contains(end.stageId)) {
          tasks.incrementAndGet()
          Option(end.taskMetrics).foreach(metrics => bytes.addAndGet(metrics.shuffleReadMetrics.totalBytesRead))
        }
      override def onStageSubmitted(submitted: SparkListenerStageSubmitted): Unit =
        if (submitted.stageInfo.rddInfos.exists(_.isBarrier)) barrierStages += submitted.stageInfo.stageId
      @volatile private var barrierStages = Set.empty[Int]
    }
    context.addSparkListener(listener)
    try {
      val result = body
      awaitEvents(context)
      (result, Counts(jobs.get(), tasks.get(), bytes.get()))
    } finally context.removeSparkListener(listener)
  }

  /** Till listeners have heard of all that has happened: one that comes now hears of none of it. */
  def awaitEvents(context: SparkContext): Unit = context.listenerBus.waitUntilEmpty()
}
