package org.apache.spark.bloomery

import java.io.{File, IOException}
import java.nio.file.{AccessDeniedException, Files, FileSystemException, NoSuchFileException}

import scala.util.{Failure, Try}

import org.apache.spark.{SparkEnv, SparkException}

import io.bloomery.ResourceError

/**
 * Spark's local directories. Rows beyond the budget go there, and so does what a task returns, since a shuffle stands
 * behind it: a worker that cannot write to any would train in vain. The driver needs its own for broadcasts.
 */
private[bloomery] object LocalFolders {

  /** A full disk still takes an empty file. */
  private val ProbeBytes = 4096

  /** What Spark's own exceptions say of a file there. */
  private val Refused =
    """(/\S*/blockmgr-[^\s/:]+)[^\s:]*: (Read-only file system|Permission denied|No space left on device)""".r

  def of(env: SparkEnv): Seq[File] = env.blockManager.diskBlockManager.localDirs.toSeq

  def checkDriver(env: SparkEnv): Unit = whyUnwritable(env, "driver").foreach(error => throw error)

  def checkWorker(env: SparkEnv, rank: Int): Unit = whyUnwritable(env, rank).foreach(error => throw error)

  /** Why nothing can be written to any of them; nothing where one can be. */
  def whyUnwritable(env: SparkEnv, rank: Int): Option[ResourceError] =
    whyUnwritable(env, s"rank $rank, executor ${env.executorId}")

  /** A failure of Spark's own that comes from such a directory: of this driver, or where no task of ours could run. */
  def inWords(error: SparkException, env: SparkEnv): Option[ResourceError] =
    Refused.findFirstMatchIn(String.valueOf(error.getMessage)).map { refused =>
      val who = if (of(env).exists(_.getPath == refused.group(1))) "driver" else "an executor"
      val told = sentence(s"${refused.group(1)}: ${refused.group(2)}, $who")
      told.initCause(error)
      told
    }

  private def whyUnwritable(env: SparkEnv, who: String): Option[ResourceError] = {
    val refusals = of(env).map(folder => folder -> refusal(folder))
    Option.when(refusals.nonEmpty && refusals.forall(_._2.isDefined)) {
      val reasons = refusals.map { case (folder, why) => s"$folder: ${why.getOrElse("")}" }.mkString(", ")
      sentence(s"$reasons, $who on host ${env.blockManager.blockManagerId.host}")
    }
  }

  private def sentence(values: String): ResourceError =
    new ResourceError(
      "Spark's local directories cannot be written to, where rows beyond dataMemory and the results of workers go; free" +
        " one or make it writable, or set spark.local.dir to another and start the application again (YARN has" +
        s" directories of its own for this): $values")

  private def refusal(folder: File): Option[String] =
    Try {
      val file = Files.createTempFile(folder.toPath, "bloomery-", "")
      try Files.write(file, new Array[Byte](ProbeBytes))
      finally Files.delete(file)
    } match {
      case Failure(_: NoSuchFileException) => Some("No such file or directory")
      case Failure(_: AccessDeniedException) => Some("Permission denied")
      case Failure(error: FileSystemException) => Some(Option(error.getReason).getOrElse(error.getMessage))
      case Failure(error: IOException) => Some(String.valueOf(error.getMessage))
      case Failure(error) => throw error
      case _ => None
    }
}
