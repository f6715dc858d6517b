package org.apache.spark.bloomery

import java.nio.file.{Files, Path}

import org.apache.spark.sql.SparkSession
import org.scalatest.{BeforeAndAfterAll, Suite}
import org.scalatest.concurrent.{Signaler, ThreadSignaler, TimeLimits}

/** A suite with a Spark session of its own, stopped at the end. */
trait SparkSuite extends BeforeAndAfterAll with TimeLimits { this: Suite =>
  implicit val signaler: Signaler = ThreadSignaler

  def master: String

  /** Further settings of the session. */
  def settings: Map[String, String] = Map.empty

  lazy val spark: SparkSession = SparkSession
    .builder()
    .master(master)
    .appName(suiteName)
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "5")
    .config("spark.default.parallelism", "2")
    // Executors of local-cluster get the classes of this JVM, natives included.
    .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
    .config("spark.sql.warehouse.dir", temporary("warehouse").toString)
    .config(settings)
    .getOrCreate()

  override def afterAll(): Unit = {
    spark.stop()
    super.afterAll()
  }

  def temporary(name: String): Path = Files.createTempDirectory(name)
}
