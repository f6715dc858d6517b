package org.apache.spark.bloomery

import org.apache.spark.SparkConf
import org.apache.spark.resource.{ResourceProfile, ResourceProfileBuilder, TaskResourceRequests}

/**
 * How many cores each worker has: those of any task, or others that the user wants for training, while tasks before
 * it keep theirs. Spark deals out tasks of one stage by other cores than all on clusters alone: in local mode a worker
 * computes with as many threads, and takes the slot of any task.
 */
final case class WorkerCpus(number: Int, asked: Boolean, isLocal: Boolean) {

  /** What Spark deals out workers by, where it is not what it deals out all tasks by. */
  private[bloomery] def profile: Option[ResourceProfile] =
    Option.when(asked && !isLocal) {
      new ResourceProfileBuilder().require(new TaskResourceRequests().cpus(number)).build()
    }

  /** Threads that the task's own cores do not tell. */
  private[bloomery] def threads: Option[Int] = Option.when(asked && isLocal)(number)

  def text: String =
    if (!asked) s"$number of each worker compute (spark.task.cpus)"
    else if (isLocal) s"$number of each worker compute (workerCpus; in local mode its task slot stays that of any task)"
    else s"$number of each worker compute (workerCpus), whose tasks have as many cores; tasks before them keep theirs"
}

object WorkerCpus {
  def of(conf: SparkConf, asked: Option[Int]): WorkerCpus = {
    val ofTask = conf.getInt("spark.task.cpus", 1)
    WorkerCpus(asked.getOrElse(ofTask), asked.exists(_ != ofTask), Slots.isLocal(conf))
  }
}
