package org.apache.spark.bloomery

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.bloomery.{ParquetPart, ParquetPlan}

private[bloomery] final class ParquetPartition(
    override val index: Int,
    val parts: Seq[ParquetPart],
    val hosts: Seq[String])
    extends Partition

/** Gives each worker the parts of files that were planned for it. */
private[bloomery] final class ParquetRDD(context: SparkContext, @transient private val plan: ParquetPlan)
    extends RDD[ParquetPart](context, Nil) {

  override protected def getPartitions: Array[Partition] =
    plan.workers.zip(plan.hosts).zipWithIndex.map { case ((parts, hosts), worker) =>
      new ParquetPartition(worker, parts, hosts): Partition
    }.toArray

  override def compute(split: Partition, context: TaskContext): Iterator[ParquetPart] =
    split.asInstanceOf[ParquetPartition].parts.iterator

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    split.asInstanceOf[ParquetPartition].hosts
}
