package org.apache.spark.bloomery

import scala.reflect.ClassTag

import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike}

/**
 * What a fit would do with its rows, as sentences: which way they come and why, who gets which, and whether a repeated
 * fit sees the same. `task` is the engine's with all that is known of the rows. No job runs to find out.
 */
final case class FitPlan(input: String, workers: String, repeats: String, task: String)

object FitPlan {
  private val MaxNamed = 8
  private val ByPlace = "the same seed gives the same bits"

  def of(data: DataFrame, request: TrainRequest): FitPlan = {
    val classicData = TrainJob.dealt(data, request).asInstanceOf[classic.Dataset[Row]]
    val input = Input.of(classicData, request.numWorkers)
    val (workers, repeats) = input match {
      case Input.Files(plan) =>
        (shares(plan.rowsOfWorkers, "rows"), s"$ByPlace; a row is known by its file and its place in it")
      case spark: Input.BySpark => (partitions(spark, request.numWorkers), order(spark))
    }
    FitPlan(input.text, workers, repeats, KnownRows.addTo(request.task, input))
  }

  private def partitions(spark: Input.BySpark, numWorkers: Int): String = {
    val plan = planned(spark.data.queryExecution.executedPlan)
    if (has[Exchange](plan))
      s"partitions are known when the stages before have run (${plan.outputPartitioning.numPartitions} are planned)," +
        s" and dealt in turn to $numWorkers workers"
    else {
      val counts = Grouping.roundRobin(spark.numPartitions, numWorkers).map(_.length.toLong)
      s"${counts.sum} partitions: ${shares(counts, "partitions")}"
    }
  }

  private def order(spark: Input.BySpark): String =
    if (has[ShuffleExchangeLike](planned(spark.data.queryExecution.executedPlan)))
      "not promised: the rows come out of a shuffle, whose order Spark may change when it runs again; write them to" +
        " files and train on these where the same bits are wanted"
    else if (spark.files.nonEmpty) s"$ByPlace; a row is known by its file and its place in it"
    else
      s"$ByPlace as long as the source gives the same partitions; a row is known by its partition and its place in it"

  private def shares(counts: Seq[Long], what: String): String = {
    val named =
      if (counts.length > MaxNamed) s"each of ${counts.length} workers gets ${counts.min} to ${counts.max} $what"
      else counts.zipWithIndex.map { case (count, worker) => s"worker $worker gets $count" }.mkString(", ") + s" $what"
    val idle = counts.count(_ == 0)
    if (idle > 0) s"$named; $idle of ${counts.length} workers get none, set forceRepartition or repartition the data"
    else named
  }

  private def planned(plan: SparkPlan): SparkPlan = plan match {
    case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
    case other => other
  }

  /** Also below what was cached, which is made when it is first asked for. */
  private def has[T: ClassTag](plan: SparkPlan): Boolean = plan.exists {
    case _: T => true
    case cached: InMemoryTableScanExec => has[T](planned(cached.relation.cachedPlan))
    case _ => false
  }
}
