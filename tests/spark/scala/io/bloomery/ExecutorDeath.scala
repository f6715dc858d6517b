package io.bloomery

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.bloomery.JobLog
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskStart}
import org.scalatest.Suite
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

/** A suite whose executors die. */
trait ExecutorDeath extends EngineSuite { this: Suite =>
  override def master: String = "local-cluster[2,1,1024]"
  private implicit val threads: ExecutionContext = ExecutionContext.global

  private def executorProcesses(): Seq[Long] =
    spark.sparkContext.parallelize(0 until 2, 2).map(_ => ProcessHandle.current().pid()).collect().toSeq.distinct

  /** What a fit gives whose executor dies half a second after its workers have started, or when it is `time` later. */
  def disturbed[T](fit: => T, time: => Boolean = true): T = {
    val victim = executorProcesses().head
    JobLog.awaitEvents(spark.sparkContext)
    val started = new CountDownLatch(2)
    val listener = new SparkListener {
      override def onTaskStart(start: SparkListenerTaskStart): Unit = started.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    val (result, counts) = JobLog.count(spark.sparkContext) {
      val fitting = Future(fit)
      assert(started.await(60, TimeUnit.SECONDS))
      Thread.sleep(500)
      val deadline = 60.seconds.fromNow
      while (!time && deadline.hasTimeLeft()) Thread.sleep(20)
      assert(!fitting.isCompleted)
      ProcessHandle.of(victim).ifPresent { process => process.destroyForcibly(); () }
      Await.result(fitting, 120.seconds)
    }
    assert(counts.barrierTasks > 2, "the stage was tried again, or another job made")
    result
  }
}
