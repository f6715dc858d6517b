package org.apache.spark.bloomery

import scala.util.Try

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.bloomery.{BareScan, ChangedFiles, ColumnarScan, ParquetPart, ParquetPlan, PickedScan}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

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
      s"parquet: ${plan.numRows} rows in ${rowGroups(plan.workers.flatten)} of ${Counted(plan.numFiles, "file")}"

    override def share(rank: Int, numWorkers: Int): String = {
      val parts = plan.workers(rank)
      s"partition $rank: ${rowGroups(parts)} of ${Counted(parts.map(_.path).distinct.size, "file")}"
    }

    private def rowGroups(parts: Seq[ParquetPart]): String = Counted(parts.map(_.rowGroups.length).sum, "row group")
  }

  /** Spark reads; `files` numbers the files of a bare scan, whose rows tell where they lie. */
  sealed trait BySpark extends Input {
    def data: classic.Dataset[Row]
    def files: Map[String, Int]
    def rdd: RDD[_]
    def numPartitions: Int = rdd.getNumPartitions

    /** Whether rows come in this order again when Spark computes them anew. */
    lazy val keepsOrder: Boolean = RowOrder.isPromised(data.queryExecution.executedPlan, rdd)

    override def share(rank: Int, numWorkers: Int): String =
      Grouping.roundRobin(numPartitions, numWorkers)(rank) match {
        case Seq() => "no partition"
        case Seq(one) => s"partition $one"
        case several => Input.named(several)
      }
  }

  /** Spark's columnar batches, as they leave its reader. */
  final case class Batches(data: classic.Dataset[Row], scan: ColumnarScan, files: Map[String, Int], why: String)
      extends BySpark {
    override def text: String = s"columnar: $why"
    override lazy val rdd: RDD[ColumnarBatch] = scan.rdd
  }

  /** Spark's rows of some columns, and beside them others that the engine reads from the files. */
  final case class Picked(scan: PickedScan, files: Map[String, Int], why: String) extends BySpark {
    override def text: String =
      s"mixed: $why; the engine reads ${scan.columns.shown.fieldNames.mkString(", ")} of" +
        s" ${Counted(scan.files.size, "file")}"
    override def data: classic.Dataset[Row] = scan.rest
    override lazy val rdd: RDD[InternalRow] = data.queryExecution.toRdd
  }

  /** Spark's rows. */
  final case class Rows(data: classic.Dataset[Row], files: Map[String, Int], why: String) extends BySpark {
    override def text: String = s"rows: $why"
    override lazy val rdd: RDD[InternalRow] = data.queryExecution.toRdd
  }

  private def named(partitions: Seq[Int]): String =
    if (partitions.size > MaxNamed) s"${partitions.size} partitions, the first ${partitions.head}"
    else s"partitions ${partitions.mkString(", ")}"

  /** Decides for the columns that a fit selected, as the session's setting has it. */
  def of(selected: classic.Dataset[Row], numWorkers: Int): Input =
    selected.sparkSession.conf.get(PathKey, "auto") match {
      case "auto" =>
        ParquetPlan.of(selected, numWorkers).fold(
          why => {
            val spark = placed(selected)
            picked(selected, spark, why)
              .orElse(batches(spark, why))
              .fold(also => rows(spark, Seq(why, also).distinct.mkString("; ")), identity)
          },
          Files(_))
      case "parquet" =>
        ParquetPlan.of(selected, numWorkers).fold(
          why => throw new UserError(s"$PathKey is parquet, but Spark has to read the rows: $why"),
          Files(_))
      case "mixed" =>
        picked(selected, placed(selected), s"$PathKey is mixed").fold(
          why => throw new UserError(s"$PathKey is mixed, but Spark has to read all columns: $why"),
          identity)
      case "columnar" =>
        batches(placed(selected), s"$PathKey is columnar").fold(
          why => throw new UserError(s"$PathKey is columnar, but Spark has to make rows: $why"),
          identity)
      case "rows" => rows(placed(selected), s"$PathKey is rows")
      case other => throw new UserError(s"$PathKey must be auto, parquet, mixed, columnar or rows: $other")
    }

  /** What Spark is to read, and the numbers of its files. */
  private final case class Placed(data: classic.Dataset[Row], files: Map[String, Int])

  private def picked(selected: classic.Dataset[Row], spark: Placed, why: String): Either[String, Input] =
    PickedScan.of(selected).map(Picked(_, spark.files, why))

  private def batches(spark: Placed, why: String): Either[String, Input] =
    ColumnarScan.of(spark.data).map(Batches(spark.data, _, spark.files, why))

  private def rows(spark: Placed, why: String): Rows = Rows(spark.data, spark.files, why)

  /** A row of a bare scan is known by its file and its place in it, however it is read. */
  private def placed(selected: classic.Dataset[Row]): Placed = {
    ChangedFiles.refuse(selected)
    val inFiles = for {
      bare <- BareScan.of(selected).toOption
      // Not every reader tells the place of a row.
      data <- Try(bare.withPlaces).toOption
    } yield Placed(data, bare.files.map(file => file.status.getPath.toString -> file.index).toMap)
    inFiles.getOrElse(Placed(selected, Map.empty))
  }
}
