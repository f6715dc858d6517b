package org.apache.spark.bloomery

import scala.util.Try

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.bloomery.{BareScan, ParquetPlan}
import org.apache.spark.sql.catalyst.InternalRow

import io.bloomery.UserError

/** Where the rows of a fit come from. */
private[bloomery] sealed trait Input {

  /** For the user: which way rows take, and why. */
  def text: String

  /** What a worker reads, for messages. */
  def share(rank: Int, numWorkers: Int): String
}

private[bloomery] object Input {
  private val MaxNamed = 8
  val PathKey = "spark.bloomery.input.path"

  /** The engine reads Parquet files by itself. */
  final case class Files(plan: ParquetPlan) extends Input {
    override def text: String =
      s"parquet: ${plan.numRows} rows in ${plan.workers.flatten.map(_.rowGroups.length).sum} row groups" +
        s" of ${plan.numFiles} files"

    override def share(rank: Int, numWorkers: Int): String = {
      val parts = plan.workers(rank)
      s"partition $rank: ${parts.map(_.rowGroups.length).sum} row groups of ${parts.map(_.path).distinct.size} files"
    }
  }

  /** Spark reads; `files` numbers the files of a bare scan, whose rows tell where they lie. */
  final case class Rows(data: classic.Dataset[Row], files: Map[String, Int], why: String) extends Input {
    override def text: String = s"rows: $why"
    lazy val rdd: RDD[InternalRow] = data.queryExecution.toRdd

    override def share(rank: Int, numWorkers: Int): String =
      Grouping.roundRobin(rdd.getNumPartitions, numWorkers)(rank) match {
        case Seq() => "no partition"
        case Seq(one) => s"partition $one"
        case several => Input.named(several)
      }
  }

  private def named(partitions: Seq[Int]): String =
    if (partitions.size > MaxNamed) s"${partitions.size} partitions, the first ${partitions.head}"
    else s"partitions ${partitions.mkString(", ")}"

  /** Decides for the columns that a fit selected, as the session's setting has it. */
  def of(selected: classic.Dataset[Row], numWorkers: Int): Input =
    selected.sparkSession.conf.get(PathKey, "auto") match {
      case "auto" => ParquetPlan.of(selected, numWorkers).fold(rows(selected, _), Files(_))
      case "parquet" =>
        ParquetPlan.of(selected, numWorkers).fold(
          why => throw new UserError(s"$PathKey is parquet, but Spark has to read the rows: $why"),
          Files(_))
      case "rows" => rows(selected, s"$PathKey is rows")
      case other => throw new UserError(s"$PathKey must be auto, parquet or rows: $other")
    }

  /** A row of a bare scan is known by its file and its place in it, however it is read. */
  private def rows(selected: classic.Dataset[Row], why: String): Rows = {
    val placed = for {
      bare <- BareScan.of(selected).toOption
      // Not every reader tells the place of a row.
      data <- Try(bare.withPlaces).toOption
    } yield Rows(data, bare.files.map(file => file.status.getPath.toString -> file.index).toMap, why)
    placed.getOrElse(Rows(selected, Map.empty, why))
  }
}
