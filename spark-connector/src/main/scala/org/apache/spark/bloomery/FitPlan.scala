package org.apache.spark.bloomery

import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.execution.exchange.Exchange

/**
 * What a fit would do with its rows, as sentences: which way they come and why, who gets which, whether a repeated fit
 * sees the same, and by what a share of them for validation is chosen. `task` is the engine's with all that is known of
 * the rows. No job runs to find out.
 */
final case class FitPlan(input: String, workers: String, repeats: String, chosenBy: String, task: String)

object FitPlan {
  private val MaxNamed = 8
  private val ByPlace = "the same seed gives the same bits"
  private val InFile = "its file and its place in it"
  private val InPartition = "its partition and its place in it"

  def of(data: DataFrame, request: TrainRequest): FitPlan = {
    val classicData = TrainJob.dealt(data, request).asInstanceOf[classic.Dataset[Row]]
    val input = Input.of(classicData, request.numWorkers)
    val (workers, repeats, chosenBy) = input match {
      case Input.Files(plan) => (shares(plan.rowsOfWorkers, "rows"), s"$ByPlace; a row is known by $InFile", InFile)
      case spark: Input.BySpark => (partitions(spark, request.numWorkers), order(spark), chosen(spark))
    }
    FitPlan(input.text, workers, repeats, chosenBy, KnownRows.addTo(request.task, input))
  }

  private def partitions(spark: Input.BySpark, numWorkers: Int): String = {
    val plan = RowOrder.planned(spark.data.queryExecution.executedPlan)
    if (RowOrder.has[Exchange](plan))
      s"partitions are known when the stages before have run (${plan.outputPartitioning.numPartitions} are planned)," +
        s" and dealt in turn to $numWorkers workers"
    else {
      val counts = Grouping.roundRobin(spark.numPartitions, numWorkers).map(_.length.toLong)
      s"${counts.sum} partitions: ${shares(counts, "partitions")}"
    }
  }

  private def order(spark: Input.BySpark): String =
    if (!spark.keepsOrder)
      "not promised: the rows come out of a shuffle, whose order Spark may change when it runs again; write them to" +
        " files and train on these where the same bits are wanted"
    else if (spark.files.nonEmpty) s"$ByPlace; a row is known by $InFile"
    else s"$ByPlace as long as the source gives the same partitions; a row is known by $InPartition"

  private def chosen(spark: Input.BySpark): String =
    if (!spark.keepsOrder)
      "what it holds (features, labels, weight), since its place may change; equal rows go together"
    else if (spark.files.nonEmpty) InFile
    else InPartition

  private def shares(counts: Seq[Long], what: String): String = {
    val named =
      if (counts.length > MaxNamed) s"each of ${counts.length} workers gets ${counts.min} to ${counts.max} $what"
      else counts.zipWithIndex.map { case (count, worker) => s"worker $worker gets $count" }.mkString(", ") + s" $what"
    val idle = counts.count(_ == 0)
    if (idle > 0) s"$named; $idle of ${counts.length} workers get none, set forceRepartition or repartition the data"
    else named
  }
}
