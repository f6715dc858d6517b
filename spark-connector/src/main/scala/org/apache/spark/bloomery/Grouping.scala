package org.apache.spark.bloomery

/**
 * Which worker reads which partitions: a function of the two counts alone, so that a repeated fit
 * deals the same. Spark packs files largest first, hence dealing in turn keeps workers balanced.
 */
private[bloomery] object Grouping {

  /** For each worker its partitions, ascending; a worker may get none. */
  def roundRobin(numPartitions: Int, numWorkers: Int): Seq[Seq[Int]] =
    Seq.tabulate(numWorkers)(worker => worker until numPartitions by numWorkers)
}
