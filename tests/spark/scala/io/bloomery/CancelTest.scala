package io.bloomery

import java.util.concurrent.CountDownLatch

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskStart}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.funsuite.AnyFunSuite
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

/** A fit that is told to stop ends within two seconds, whatever it was doing. */
trait CancelBehaviour extends AnyFunSuite with EngineSuite {
  private implicit val threads: ExecutionContext = ExecutionContext.global

  private def cancelled(data: DataFrame, after: FiniteDuration): FiniteDuration = {
    val started = new CountDownLatch(2)
    val listener = new SparkListener {
      override def onTaskStart(start: SparkListenerTaskStart): Unit = started.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    val fit = Future(Tiny.classifier.setNumWorkers(2).setEpochs(1000000).fit(data))
    started.await()
    spark.sparkContext.removeSparkListener(listener)
    Thread.sleep(after.toMillis)
    assert(!fit.isCompleted, fit.value)
    val asked = Deadline.now
    spark.sparkContext.cancelAllJobs()
    val error = intercept[Cancelled](Await.result(fit, 10.seconds))
    assert(error.getMessage.startsWith("The fit was cancelled"))
    assertNothingIsAlive()
    Deadline.now - asked
  }

  test("while training") {
    assert(cancelled(Tiny.data(spark), after = 3.seconds) < 2.seconds)
  }

  test("while rows still come slowly") {
    val slow = udf { (id: Long) => Thread.sleep(10); id }
    val data = Tiny.data(spark, rows = 100000).withColumn("label", col("label") + slow(col("id")) * 0)
    assert(cancelled(data, after = 2.seconds) < 2.seconds)
  }
}

class LocalCancelTest extends CancelBehaviour {
  override def master: String = "local[2]"
}

class ClusterCancelTest extends CancelBehaviour {
  override def master: String = "local-cluster[2,1,1024]"
}
