package org.apache.spark.bloomery

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

import io.bloomery.{ResourceError, UserError}

class SlotsTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[2]"

  private val processors = Runtime.getRuntime.availableProcessors()

  private def conf(settings: (String, String)*): SparkConf =
    new SparkConf(false).setAll(settings)

  test("the configuration tells how many tasks can ever run at once") {
    val cases = Table[Seq[(String, String)], Option[Int]](
      ("settings", "slots"),
      (Seq("spark.master" -> "local"), Some(1)),
      (Seq("spark.master" -> "local[3]"), Some(3)),
      (Seq("spark.master" -> "local[3, 4]"), Some(3)),
      (Seq("spark.master" -> "local[*]"), Some(processors)),
      (Seq("spark.master" -> "local[5]", "spark.task.cpus" -> "2"), Some(2)),
      (Seq("spark.master" -> "local-cluster[2,3,1024]"), Some(6)),
      (Seq("spark.master" -> "local-cluster[2, 3, 1024]", "spark.task.cpus" -> "2"), Some(2)),
      (Seq("spark.master" -> "spark://host:7077"), None),
      (Seq("spark.master" -> "spark://host:7077", "spark.cores.max" -> "8"), Some(8)),
      (Seq("spark.master" -> "spark://host:7077", "spark.executor.instances" -> "2"), None),
      (Seq("spark.master" -> "yarn"), Some(2)),
      (Seq("spark.master" -> "yarn", "spark.executor.instances" -> "4"), Some(4)),
      (
        Seq("spark.master" -> "yarn", "spark.executor.instances" -> "4", "spark.executor.cores" -> "3"),
        Some(12)),
      (
        Seq(
          "spark.master" -> "k8s://host",
          "spark.executor.instances" -> "4",
          "spark.executor.cores" -> "3",
          "spark.task.cpus" -> "2"),
        Some(4)))
    forAll(cases)((settings, slots) => assert(Slots.limit(conf(settings: _*)) == slots))
  }

  test("more workers than slots are refused with what to change") {
    val error = intercept[UserError](Slots.check(conf("spark.master" -> "local[2]"), 3))
    assert(error.getMessage ==
      "More workers than task slots this configuration can ever give; lower numWorkers or raise" +
      " n in local[n]: numWorkers 3, slots 2, master local[2]")
    Slots.check(conf("spark.master" -> "local[2]"), 2)
    val wide = intercept[UserError](Slots.check(conf("spark.master" -> "local[2]", "spark.task.cpus" -> "2"), 2))
    assert(wide.getMessage.endsWith("lower numWorkers or spark.task.cpus or raise n in local[n]: numWorkers 2," +
      " spark.task.cpus 2, slots 1, master local[2]"))
  }

  test("slots that do not come are waited for, and then named") {
    val said = Seq.newBuilder[String]
    Slots.await(spark.sparkContext, 2, timeoutSeconds = 0, said += _)
    val error = intercept[ResourceError](Slots.await(spark.sparkContext, 3, timeoutSeconds = 1.5, said += _))
    assert(error.getMessage.endsWith("2 of 3 slots after 2 s"))
    assert(said.result() == Seq("waiting for task slots, 2 of 3 there, up to 2 s"))
  }

  test("dynamic allocation is refused with the setting to change") {
    val error = intercept[UserError] {
      Slots.check(conf("spark.master" -> "yarn", "spark.dynamicAllocation.enabled" -> "true"), 1)
    }
    assert(error.getMessage.endsWith("set spark.dynamicAllocation.enabled=false"))
  }
}
