package org.apache.spark.bloomery

import org.apache.spark.SparkConf

import io.bloomery.{ResourceError, UserError}

/** What a worker takes beside the JVM's heap: its network, and rows up to a budget. */
object WorkerMemory {
  private val MiB = 1L << 20

  /** Refuses what YARN or Kubernetes would end: there an executor has its overhead and no more. */
  def check(
      conf: SparkConf,
      networkBytes: Long,
      dataMemory: Option[Long],
      numWorkers: Int,
      workerCpus: Option[Int] = None): Unit =
    RowSpace.overhead(conf).foreach { overhead =>
      val workers = RowSpace.workersPerExecutor(conf, numWorkers, workerCpus)
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
  def rows(
      conf: SparkConf,
      dataMemory: Option[Long],
      numWorkers: Int,
      workerCpus: Option[Int] = None): Option[Long] =
    dataMemory.orElse(known(conf).map { bytes =>
      RowSpace.defaultMemory(conf, bytes, RowSpace.workersPerExecutor(conf, numWorkers, workerCpus))
    })

  /** How many bytes are left for the network of a worker, where that is known before it runs. */
  def network(
      conf: SparkConf,
      dataMemory: Option[Long],
      numWorkers: Int,
      workerCpus: Option[Int] = None): Option[Long] =
    for {
      bytes <- known(conf)
      kept <- rows(conf, dataMemory, numWorkers, workerCpus)
      left = bytes / RowSpace.workersPerExecutor(conf, numWorkers, workerCpus) - kept
      if left > 0
    } yield left

  /** What an executor has beside the heap, as far as the driver can tell. */
  private def known(conf: SparkConf): Option[Long] = {
    val isHere = conf.get("spark.master", "").matches("local(\\[.*\\])?")
    RowSpace.overhead(conf).orElse(Option.when(isHere)(FreeMemory.now().bytes))
  }

  /**
   * Keeps memory for a worker of this executor till it is given back. ResourceError, with what to change, when the
   * workers that are here want more together than was free before the first of them came. Where the driver has looked
   * at the overhead, nothing is refused.
   */
  def reserve(conf: SparkConf, networkBytes: Long, rowBytes: Long): AutoCloseable =
    if (RowSpace.overhead(conf).isDefined) () => ()
    else here.reserve(networkBytes, rowBytes, FreeMemory.now())

  private val here = new Reservations

  /** The workers of one executor. */
  private[bloomery] final class Reservations {
    private var taken = Seq.empty[Reservation]
    private var free = FreeMemory(0, "")

    /** `freeNow` counts for the first; by the next one a part of it is in use already. */
    def reserve(networkBytes: Long, rowBytes: Long, freeNow: => FreeMemory): AutoCloseable = synchronized {
      if (taken.isEmpty) free = freeNow
      val all = taken :+ new Reservation(networkBytes, rowBytes)
      val needed = all.map(_.bytes).sum
      if (needed > free.bytes) throw new ResourceError(refusal(all, needed, free))
      taken = all
      all.last
    }

    private final class Reservation(val networkBytes: Long, val rowBytes: Long) extends AutoCloseable {
      def bytes: Long = networkBytes + rowBytes

      override def close(): Unit = Reservations.this.synchronized {
        taken = taken.filterNot(_ eq this)
      }
    }

    private def refusal(all: Seq[Reservation], needed: Long, free: FreeMemory): String = {
      val own = all.last
      val rows = if (own.rowBytes == 0) "" else s" and ${mega(own.rowBytes)} MB for rows (dataMemory)"
      // What takes most first.
      val lower =
        if (own.rowBytes == 0) "batchSize"
        else if (own.rowBytes > own.networkBytes) "dataMemory or batchSize"
        else "batchSize or dataMemory"
      val fewer = if (all.length == 1) "" else "run fewer workers on an executor with a larger workerCpus, "
      s"Executor has too little free memory; lower $lower, ${fewer}or give it at least ${mega(needed)} MB beside the" +
        s" heap: ${mega(free.bytes)} MB are free ${free.where}, workers of the executor so far ${all.length}, this" +
        s" one needs ${mega(own.networkBytes)} MB for the network$rows"
    }
  }

  private def mega(bytes: Long): Long = (bytes + MiB - 1) / MiB
}
