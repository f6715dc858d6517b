package org.apache.spark.bloomery

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.UserError

class WorkerMemoryTest extends AnyFunSuite {
  private val MiB = 1L << 20

  private def conf(settings: (String, String)*): SparkConf = new SparkConf(false).setAll(settings)

  private val onYarn = Seq("spark.master" -> "yarn", "spark.executor.memoryOverhead" -> "1g")

  test("what the overhead of an executor does not hold is refused with what to set") {
    val cases = Seq(
      (200L, None, Nil, None),
      (600L, None, Nil, Some("1200m, or lower batchSize:")),
      (200L, Some(700L), Nil, None),
      (200L, Some(900L), Nil, Some("1100m, or lower batchSize or dataMemory:")),
      (200L, None, Seq("spark.executor.cores" -> "4"), Some("1600m, or lower batchSize:")),
      (200L, None, Seq("spark.executor.cores" -> "4", "spark.task.cpus" -> "2"), None))
    cases.foreach { case (network, rows, settings, refused) =>
      def check(): Unit =
        WorkerMemory.check(conf(onYarn ++ settings: _*), network * MiB, rows.map(_ * MiB), numWorkers = 8)
      refused match {
        case Some(text) => assert(intercept[UserError](check()).getMessage.contains(text))
        case None => check()
      }
    }
  }

  test("where nothing ends an executor that takes more, nothing is refused") {
    Seq("local[2]", "spark://host:7077").foreach { master =>
      WorkerMemory.check(conf("spark.master" -> master), 1L << 40, Some(1L << 40), numWorkers = 2)
    }
  }

  test("the memory for rows is told where it is known before a worker runs") {
    assert(WorkerMemory.rows(conf("spark.master" -> "spark://host:7077"), Some(7L), 2).contains(7L))
    assert(WorkerMemory.rows(conf("spark.master" -> "spark://host:7077"), None, 2).isEmpty)
    assert(WorkerMemory.rows(conf(onYarn: _*), None, 2).contains(512 * MiB))
    assert(WorkerMemory.rows(conf("spark.master" -> "local[2]"), None, 2).exists(_ > 0))
  }
}
