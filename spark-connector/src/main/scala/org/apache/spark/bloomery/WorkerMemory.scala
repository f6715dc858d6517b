package org.apache.spark.bloomery

import org.apache.spark.SparkConf

import io.bloomery.UserError

/** What a worker takes beside the JVM's heap: its network, and rows up to a budget. */
object WorkerMemory {
  private val MiB = 1L << 20

  /** Refuses what YARN or Kubernetes would end: there an executor has its overhead and no more. */
  def check(conf: SparkConf, networkBytes: Long, dataMemory: Option[Long], numWorkers: Int): Unit =
    RowSpace.overhead(conf).foreach { overhead =>
      val workers = RowSpace.workersPerExecutor(conf, numWorkers)
      val rows = dataMemory.getOrElse(RowSpace.defaultMemory(conf, overhead, workers))
      // Without a budget rows take half of what there is.
      val needed = dataMemory.fold(2 * workers * networkBytes)(_ => workers * (networkBytes + rows))
      if (needed > overhead) {
        throw new UserError(
          "Executors have too little memory beside the heap; raise spark.executor.memoryOverhead to" +
            s" ${(needed + MiB - 1) / MiB}m, or lower batchSize${dataMemory.fold("")(_ => " or dataMemory")}: overhead" +
            s" ${overhead / MiB} MB, workers of an executor $workers, each ${mega(networkBytes)} MB for the network and" +
            s" ${mega(rows)} MB for rows")
      }
    }

  /** How many bytes of rows a worker keeps in memory, where that is known before it runs. */
  def rows(conf: SparkConf, dataMemory: Option[Long], numWorkers: Int): Option[Long] = {
    val isHere = conf.get("spark.master", "").matches("local(\\[.*\\])?")
    dataMemory.orElse {
      Option.when(isHere || RowSpace.overhead(conf).isDefined) {
        RowSpace.defaultMemory(conf, RowSpace.availableBytes, RowSpace.workersPerExecutor(conf, numWorkers))
      }
    }
  }

  private def mega(bytes: Long): Long = (bytes + MiB - 1) / MiB
}
