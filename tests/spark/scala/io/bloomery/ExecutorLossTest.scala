package io.bloomery

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.bloomery.JobLog
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskStart}
import org.scalatest.funsuite.AnyFunSuite
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

class ExecutorLossTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local-cluster[2,1,1024]"
  private implicit val threads: ExecutionContext = ExecutionContext.global

  private def executorProcesses(): Seq[Long] =
    spark.sparkContext.parallelize(0 until 2, 2).map(_ => ProcessHandle.current().pid()).collect().toSeq.distinct

  /** What a fit gives whose executor dies half a second after its workers have started. */
  private def disturbed[T](fit: => T): T = {
    val victim = executorProcesses().head
    val started = new CountDownLatch(2)
    val listener = new SparkListener {
      override def onTaskStart(start: SparkListenerTaskStart): Unit = started.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    val (result, counts) = JobLog.count(spark.sparkContext) {
      val fitting = Future(fit)
      assert(started.await(60, TimeUnit.SECONDS))
      Thread.sleep(500)
      assert(!fitting.isCompleted)
      ProcessHandle.of(victim).ifPresent { process => process.destroyForcibly(); () }
      Await.result(fitting, 120.seconds)
    }
    assert(counts.barrierTasks > 2, "the stage was tried again")
    result
  }

  test("a fit survives the death of an executor") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2)
    val expected = classifier.setBatchSize(1).setEpochs(20).fit(data).weights.toSeq
    assert(disturbed(classifier.fit(data)).weights.toSeq == expected)
    assertNothingIsAlive()
  }

  test("so do fits of several param maps") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2).setBatchSize(1).setEpochs(10)
    val maps = Seq(0.01, 0.02).map(rate => ParamMap(classifier.learningRate -> rate))
    val expected = maps.map(classifier.fit(data, _).weights.toSeq)
    assert(disturbed(classifier.fit(data, maps)).map(_.weights.toSeq) == expected)
    assertNothingIsAlive()
  }
}
