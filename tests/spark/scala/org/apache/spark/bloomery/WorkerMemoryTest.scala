package org.apache.spark.bloomery

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.{ResourceError, UserError}

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

  test("so is the memory that is left for the network, which a driver elsewhere cannot tell") {
    assert(WorkerMemory.network(conf("spark.master" -> "spark://host:7077"), Some(7L), 2).isEmpty)
    assert(WorkerMemory.network(conf(onYarn: _*), None, 2).contains(512 * MiB))
    assert(WorkerMemory.network(conf(onYarn: _*), Some(100 * MiB), 2).contains(924 * MiB))
    assert(WorkerMemory.network(conf(onYarn: _*), Some(1L << 40), 2).isEmpty)
    assert(WorkerMemory.network(conf("spark.master" -> "local[2]"), Some(7L), 2).exists(_ > 0))
  }

  private def refusedHere(body: => Any): String = intercept[ResourceError](body).getMessage

  test("workers of an executor take together no more than was free before the first came") {
    val workers = new WorkerMemory.Reservations
    var free = FreeMemory(1000 * MiB, "of the machine")
    val first = workers.reserve(300 * MiB, 100 * MiB, free)
    free = FreeMemory(650 * MiB, "of the machine") // the first has begun to take its part
    val second = workers.reserve(600 * MiB, 0, free)
    assert(
      refusedHere(workers.reserve(1 * MiB, 0, free)) ==
        "Executor has too little free memory; lower batchSize, run fewer workers on an executor with a larger" +
        " workerCpus, or give it at least 1001 MB beside the heap: 1000 MB are free of the machine, workers of the" +
        " executor so far 3, this one needs 1 MB for the network")
    second.close()
    second.close()
    workers.reserve(100 * MiB, 0, free).close()
    first.close()
    assert(refusedHere(workers.reserve(700 * MiB, 0, free)).contains("650 MB are free"))
    val rows = refusedHere(workers.reserve(10 * MiB, 700 * MiB, free))
    assert(
      rows.startsWith("Executor has too little free memory; lower dataMemory or batchSize, or give it at least 710 MB"))
    assert(rows.endsWith("this one needs 10 MB for the network and 700 MB for rows (dataMemory)"))
  }

  test("where the driver has looked at the overhead, a worker does not look again") {
    WorkerMemory.reserve(conf(onYarn: _*), 1L << 60, 1L << 60).close()
    intercept[ResourceError](WorkerMemory.reserve(conf("spark.master" -> "local[2]"), 1L << 60, 0))
  }
}
