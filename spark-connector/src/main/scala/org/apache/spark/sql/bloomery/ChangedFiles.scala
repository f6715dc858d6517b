package org.apache.spark.sql.bloomery

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.util.ThreadUtils

import io.bloomery.UserError
import scala.util.Try

/**
 * Files that were written anew after a DataFrame had listed them. Spark's readers take what they find under the name:
 * rows of a folder's two states side by side.
 */
private[spark] object ChangedFiles {
  private val MaxReaders = 8

  /** So many files of a folder are asked for one by one; for more of them the folder is listed. */
  private val FewFiles = 4

  /** Refuses a DataFrame that reads such a file. One that is gone is left to whoever reads it. */
  def refuse(data: classic.Dataset[Row]): Unit = scansOf(data.queryExecution.executedPlan).foreach { scan =>
    val configuration = data.sparkSession.sessionState.newHadoopConfWithOptions(scan.relation.options)
    changed(listed(scan), configuration).foreach(throw _)
  }

  /** What became of a file, where it is still there. */
  def since(listed: FileStatus, configuration: Configuration): Option[UserError] =
    changed(Seq(listed), configuration)

  /** What is wrong with a file that was listed with this size and time. */
  def difference(now: FileStatus, size: Long, modified: Long): Option[UserError] =
    Option.when(now.getLen != size || now.getModificationTime != modified) {
      new UserError(
        s"File has changed since the DataFrame was made; refresh the DataFrame and fit again: ${now.getPath}," +
          s" ${now.getLen} bytes, was $size")
    }

  /** Rows of a cache are what they were. */
  private def scansOf(plan: SparkPlan): Seq[FileSourceScanExec] = plan.collectLeaves().flatMap {
    case adaptive: AdaptiveSparkPlanExec => scansOf(adaptive.initialPlan)
    case scan: FileSourceScanExec if isListing(scan) => Seq(scan)
    case _ => Seq.empty
  }

  /** Whether its files are known from a listing of folders, and now; a table's log may tell other times. */
  private def isListing(scan: FileSourceScanExec): Boolean =
    BareScan.isSparksOwn(scan.relation.location) &&
      !scan.partitionFilters.exists(_.exists(_.isInstanceOf[PlanExpression[_]]))

  private def listed(scan: FileSourceScanExec): Seq[FileStatus] =
    scan.relation.location.listFiles(scan.partitionFilters, Seq.empty).flatMap(_.files).map(_.fileStatus)

  private def changed(files: Seq[FileStatus], configuration: Configuration): Option[UserError] = {
    val folders = files.groupBy(_.getPath.getParent).toSeq.sortBy { case (folder, _) => folder.toString }
    val found = ThreadUtils.parmap(folders, "bloomery-files", math.max(1, math.min(MaxReaders, folders.size))) {
      case (folder, listed) =>
        val now = statuses(folder, listed.map(_.getPath), configuration)
        listed.flatMap { before =>
          now.get(before.getPath.getName).flatMap(difference(_, before.getLen, before.getModificationTime))
        }.headOption
    }
    found.flatten.headOption
  }

  /** By name; a file that is gone has none. */
  private def statuses(folder: Path, files: Seq[Path], configuration: Configuration): Map[String, FileStatus] = {
    val system = folder.getFileSystem(configuration)
    val found =
      if (files.size > FewFiles) Try(system.listStatus(folder).toSeq)
      else
        Try(files.flatMap { file =>
          try Some(system.getFileStatus(file))
          catch { case _: FileNotFoundException => None }
        })
    found
      .recover { case _: FileNotFoundException => Seq.empty }
      .get
      .map(status => status.getPath.getName -> status)
      .toMap
  }
}
