package io.bloomery

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.bloomery.JobLog
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskStart}
import org.scalatest.funsuite.AnyFunSuite
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

class ExecutorLossTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local-cluster[2,1,1024]"
  private implicit val threads: ExecutionContext = ExecutionContext.global

  private def executorProcesses(): Seq[Long] =
    spark.sparkContext.parallelize(0 until 2, 2).map(_ => ProcessHandle.current().pid()).collect().toSeq.distinct

  test("a fit survives the death of an executor") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2)
    val expected = classifier.setBatchSize(1).setEpochs(20).fit(data).weights.toSeq
    val victim = executorProcesses().head
    val started = new CountDownLatch(2)
    val listener = new SparkListener {
      override def onTaskStart(start: SparkListenerTaskStart): Unit = started.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    val (model, counts) = JobLog.count(spark.sparkContext) {
      val fit = Future(classifier.fit(data))
      assert(started.await(60, TimeUnit.SECONDS))
      Thread.sleep(500)
      assert(!fit.isCompleted)
      ProcessHandle.of(victim).ifPresent { process => process.destroyForcibly(); () }
      Await.result(fit, 120.seconds)
    }
    assert(counts.barrierTasks > 2, "the stage was tried again")
    assert(model.weights.toSeq == expected)
    assertNothingIsAlive()
  }
}
