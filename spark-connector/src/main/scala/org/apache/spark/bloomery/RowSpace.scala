package org.apache.spark.bloomery

import java.security.SecureRandom

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.internal.config.{
  EXECUTOR_MEMORY,
  EXECUTOR_MEMORY_OVERHEAD,
  EXECUTOR_MEMORY_OVERHEAD_FACTOR,
  IO_ENCRYPTION_ENABLED
}

/** Where a worker keeps its rows: how much memory, which local directories, and the key of this task. */
private[bloomery] object RowSpace {
  private val MinOverheadMiB = 384L
  private val KeyBytes = 32

  /** Adds what only the executor knows to the task's section "data". */
  def complete(data: ObjectNode, env: SparkEnv, workersHere: Int): Unit = {
    if (!data.has("memory")) data.put("memory", defaultMemory(env.conf, FreeMemory.now().bytes, workersHere))
    if (env.conf.get(IO_ENCRYPTION_ENABLED)) data.put("encryptionKey", newKey())
    val folders = data.putArray("folders")
    LocalFolders.of(env).foreach(folder => folders.add(folder.getPath))
  }

  /**
   * Half of what there is beside the heap, shared by the workers of an executor: of the overhead where the
   * cluster manager ends executors that take more, else of what is free.
   */
  def defaultMemory(conf: SparkConf, available: Long, workersHere: Int): Long = {
    overhead(conf).getOrElse(available) / 2 / math.max(1, workersHere)
  }

  /** Bytes beside the heap that the cluster manager lets an executor have, where it looks. */
  def overhead(conf: SparkConf): Option[Long] =
    Option.when(Seq("yarn", "k8s").exists(conf.get("spark.master", "").startsWith))(overheadMiB(conf) << 20)

  /** At most so many workers share an executor. */
  def workersPerExecutor(conf: SparkConf, numWorkers: Int, workerCpus: Option[Int] = None): Int = {
    // YARN and Kubernetes give an executor one core unless told otherwise, others may give it all.
    val byDefault = if (overhead(conf).isDefined) 1 else numWorkers
    val cpus = workerCpus.getOrElse(conf.getInt("spark.task.cpus", 1))
    val slots = conf.getInt("spark.executor.cores", byDefault) / math.max(1, cpus)
    math.max(1, math.min(numWorkers, slots))
  }

  private def overheadMiB(conf: SparkConf): Long =
    conf.get(EXECUTOR_MEMORY_OVERHEAD).getOrElse {
      math.max(MinOverheadMiB, (conf.get(EXECUTOR_MEMORY) * conf.get(EXECUTOR_MEMORY_OVERHEAD_FACTOR)).toLong)
    }

  private def newKey(): String = {
    val bytes = new Array[Byte](KeyBytes)
    new SecureRandom().nextBytes(bytes)
    bytes.map(byte => f"$byte%02x").mkString
  }
}
