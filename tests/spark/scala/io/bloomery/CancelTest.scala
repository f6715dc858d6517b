package io.bloomery

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.locks.LockSupport

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd, SparkListenerTaskStart}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.funsuite.AnyFunSuite
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

/** A fit that is told to stop ends within two seconds, whatever it was doing. */
trait CancelBehaviour extends AnyFunSuite with EngineSuite {
  private implicit val threads: ExecutionContext = ExecutionContext.global

  private final class TwoTasks extends SparkListener {
    val started, ended = new CountDownLatch(2)
    override def onTaskStart(start: SparkListenerTaskStart): Unit = started.countDown()
    override def onTaskEnd(end: SparkListenerTaskEnd): Unit = ended.countDown()
  }

  private def assertEndsQuickly(data: Long => DataFrame, after: FiniteDuration): Unit = {
    val classifier = Tiny.classifier.setNumWorkers(2)
    // Loads the engine and compiles the query where that has not been done.
    classifier.setEpochs(1).fit(data(4))
    val tasks = new TwoTasks
    spark.sparkContext.addSparkListener(tasks)
    val fit = Future(classifier.setEpochs(1000000).fit(data(100000)))
    assert(tasks.started.await(60, TimeUnit.SECONDS), fit.value)
    Thread.sleep(after.toMillis)
    assert(!fit.isCompleted, fit.value)
    spark.sparkContext.cancelAllJobs()
    assert(tasks.ended.await(2, TimeUnit.SECONDS))
    val error = intercept[Cancelled](Await.result(fit, 2.seconds))
    assert(error.getMessage.startsWith("The fit was cancelled"))
    spark.sparkContext.removeSparkListener(tasks)
    assertNothingIsAlive()
    ()
  }

  test("while training") {
    assertEndsQuickly(_ => Tiny.data(spark), after = 2.seconds)
  }

  test("while rows still come slowly") {
    // Does not throw when interrupted: Spark takes a second to word a UDF's first exception.
    val slow = udf { (id: Long) => LockSupport.parkNanos(10000000); id }
    assertEndsQuickly(
      rows => Tiny.data(spark, rows).withColumn("label", col("label") + slow(col("id")) - col("id")),
      after = 1.second)
  }
}

class LocalCancelTest extends CancelBehaviour {
  override def master: String = "local[2]"
}

class ClusterCancelTest extends CancelBehaviour {
  override def master: String = "local-cluster[2,1,1024]"
}
