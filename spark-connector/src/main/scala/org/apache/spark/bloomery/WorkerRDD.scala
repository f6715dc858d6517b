package org.apache.spark.bloomery

import scala.annotation.tailrec
import scala.reflect.ClassTag

import org.apache.spark.{Dependency, Partition, ShuffleDependency, TaskContext}
import org.apache.spark.rdd.RDD

/** The parent's partitions that one worker reads. */
private[bloomery] final class WorkerPartition(override val index: Int, val sources: Array[Partition])
    extends Partition

/**
 * Gives each worker a group of the parent's partitions without moving a row: the worker's task
 * computes them one after the other and yields (index of the source partition, its rows).
 * It declares the ancestors' shuffle dependencies and no narrow one, so that a barrier stage is
 * legal for any number of parent partitions; Spark refuses `coalesce` there.
 */
private[bloomery] final class WorkerRDD[T: ClassTag](parent: RDD[T], numWorkers: Int)
    extends RDD[(Int, Iterator[T])](parent.sparkContext, WorkerRDD.shuffles(parent)) {

  override protected def getPartitions: Array[Partition] = {
    val sources = parent.partitions
    Grouping.roundRobin(sources.length, numWorkers).zipWithIndex.map { case (group, worker) =>
      new WorkerPartition(worker, group.map(sources(_)).toArray): Partition
    }.toArray
  }

  override def compute(split: Partition, context: TaskContext): Iterator[(Int, Iterator[T])] =
    sourcesOf(split).iterator.map(source => source.index -> parent.iterator(source, context))

  /** The hosts that hold most of the worker's partitions. */
  override protected def getPreferredLocations(split: Partition): Seq[String] =
    sourcesOf(split).toSeq
      .flatMap(source => parent.sparkContext.getPreferredLocs(parent, source.index))
      .groupBy(_.host)
      .toSeq
      .sortBy { case (host, places) => (-places.size, host) }
      .take(WorkerRDD.MaxHosts)
      .map { case (host, _) => host }

  private def sourcesOf(split: Partition): Array[Partition] =
    split.asInstanceOf[WorkerPartition].sources
}

private[bloomery] object WorkerRDD {
  private val MaxHosts = 3

  /** The shuffles that the parent's stage starts from. */
  private def shuffles(parent: RDD[_]): Seq[Dependency[_]] = {
    @tailrec
    def collect(open: List[RDD[_]], seen: Set[Int], found: Seq[Dependency[_]]): Seq[Dependency[_]] =
      open match {
        case Nil => found.distinct
        case rdd :: rest if seen(rdd.id) => collect(rest, seen, found)
        case rdd :: rest =>
          val (shuffled, narrow) = rdd.dependencies.partition {
            case _: ShuffleDependency[_, _, _] => true
            case _ => false
          }
          collect(narrow.map(_.rdd).toList ++ rest, seen + rdd.id, found ++ shuffled)
      }
    collect(List(parent), Set.empty, Seq.empty)
  }
}
