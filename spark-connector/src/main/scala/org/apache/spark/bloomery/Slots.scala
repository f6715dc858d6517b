package org.apache.spark.bloomery

import scala.annotation.tailrec

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.resource.ResourceProfile

import io.bloomery.{ResourceError, UserError}

/** Whether the cluster can run all workers at once, and waiting until it can. */
private[bloomery] object Slots {
  private val Local = """local(?:\[(\*|[0-9]+)(?:,\s*[0-9]+)?\])?""".r
  private val LocalCluster = """local-cluster\[\s*([0-9]+)\s*,\s*([0-9]+)\s*,\s*[0-9]+\s*\]""".r

  /** What YARN and Kubernetes start when nothing is said. */
  private val DefaultInstances = 2
  private val PollMillis = 20L
  private val QuietMillis = 1000L

  /** Refuses what this configuration can never run. */
  def check(conf: SparkConf, numWorkers: Int, workerCpus: Option[Int] = None): Unit = {
    if (conf.getBoolean("spark.dynamicAllocation.enabled", defaultValue = false)) {
      throw new UserError(
        "Dynamic allocation cannot keep all workers running together; set" +
          " spark.dynamicAllocation.enabled=false")
    }
    limit(conf, workerCpus).filter(numWorkers > _).foreach { slots =>
      val (less, cpus) = workerCpus
        .map(cpus => ("workerCpus", cpus))
        .orElse(Some("spark.task.cpus" -> taskCpus(conf)).filter(_._2 > 1))
        .fold(("", "")) { case (setting, cpus) => (s" or $setting", s", $setting $cpus") }
      throw new UserError(
        s"More workers than task slots this configuration can ever give; lower numWorkers$less or raise" +
          s" ${whatToRaise(conf)}: numWorkers $numWorkers$cpus, slots $slots, master ${master(conf)}")
    }
  }

  def isLocal(conf: SparkConf): Boolean = Local.matches(master(conf))

  /** The most tasks that can ever run at once, where the configuration says so. */
  def limit(conf: SparkConf, workerCpus: Option[Int] = None): Option[Int] = {
    val cpus = workerCpus.getOrElse(taskCpus(conf))
    def slots(cores: Int): Int = cores / cpus
    master(conf) match {
      case Local("*") => Some(slots(Runtime.getRuntime.availableProcessors()))
      case Local(cores) => Some(slots(Option(cores).fold(1)(_.toInt)))
      case LocalCluster(executors, cores) => Some(executors.toInt * slots(cores.toInt))
      case master if standalone(master) =>
        // An executor takes all cores of its machine when nothing is said, so only the total is known.
        conf.getOption("spark.cores.max").map(cores => slots(cores.toInt))
      case _ =>
        val instances = conf.getInt("spark.executor.instances", DefaultInstances)
        Some(instances * slots(conf.getInt("spark.executor.cores", 1)))
    }
  }

  /** Waits for the executors: a barrier job that comes before them is looked at every 15 s only. */
  def await(
      context: SparkContext,
      numWorkers: Int,
      timeoutSeconds: Double,
      say: String => Unit,
      profile: Option[ResourceProfile] = None): Unit = {
    val wanted = profile.getOrElse(ResourceProfile.getOrCreateDefaultProfile(context.conf))
    val started = System.nanoTime()
    def elapsedMillis: Long = (System.nanoTime() - started) / 1000000
    @tailrec
    def wait(said: Boolean): Unit = {
      val registered = context.maxNumConcurrentTasks(wanted)
      if (registered < numWorkers) {
        if (elapsedMillis > timeoutSeconds * 1000) {
          throw new ResourceError(
            "Too few task slots registered before slotTimeout; lower numWorkers or look why" +
              f" executors do not start: $registered of $numWorkers slots after $timeoutSeconds%.0f s")
        }
        val speak = !said && elapsedMillis > QuietMillis
        if (speak) {
          say(f"waiting for task slots, $registered of $numWorkers there, up to $timeoutSeconds%.0f s")
        }
        Thread.sleep(PollMillis)
        wait(said || speak)
      }
    }
    wait(said = false)
  }

  private def taskCpus(conf: SparkConf): Int = conf.getInt("spark.task.cpus", 1)

  private def master(conf: SparkConf): String = conf.get("spark.master", "local[*]")

  private def standalone(master: String): Boolean = master.startsWith("spark://")

  private def whatToRaise(conf: SparkConf): String = master(conf) match {
    case Local(_) => "n in local[n]"
    case LocalCluster(_, _) => "the numbers in local-cluster[executors,cores,memory]"
    case master if standalone(master) => "spark.cores.max"
    case _ => "spark.executor.instances or spark.executor.cores"
  }
}
