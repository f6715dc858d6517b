package io.bloomery

import io.bloomery.engine.Json
import org.apache.spark.bloomery.{JobLog, SparkSuite}
import org.scalatest.{Assertion, Suite}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._
import scala.jdk.CollectionConverters._

/** A Spark suite that runs the engine and can tell what it left behind. */
trait EngineSuite extends SparkSuite with Eventually { this: Suite =>

  /** What is alive on the driver and on every executor. */
  def liveResources(): Seq[String] = {
    val slots = spark.sparkContext.defaultParallelism
    val executors = spark.sparkContext
      .parallelize(0 until slots, slots)
      .map(_ => Diagnostics.liveResources())
      .collect()
    (Diagnostics.liveResources() +: executors.toSeq).distinct
  }

  /** Tasks may still be closing when the driver already knows how the job ended. */
  def assertNothingIsAlive(): Assertion =
    eventually(timeout(2.seconds), interval(50.millis)) {
      val counts = liveResources().flatMap { json =>
        Json.parse(json, "live").properties().asScala.map(count => count.getKey -> count.getValue.asLong())
      }
      assert(counts.forall(_._2 == 0), counts.mkString(", "))
    }

  /** Runs a fit that must fail, and tells how many jobs and tasks Spark started for it. */
  def failing[E <: Throwable: scala.reflect.ClassTag](body: => Any): (E, JobLog.Counts) =
    JobLog.count(spark.sparkContext)(failAfter(60.seconds)(intercept[E](body)))
}
