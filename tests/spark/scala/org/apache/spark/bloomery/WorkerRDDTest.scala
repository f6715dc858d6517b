package org.apache.spark.bloomery

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.functions.{col, count}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

class WorkerRDDTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[2]"

  private def range(rows: Long, partitions: Int): DataFrame =
    spark.range(0, rows, 1, partitions).toDF("id")

  /** Runs a barrier stage of two workers: (worker, source partition, id) of every row. */
  private def readByWorkers(data: DataFrame): Seq[(Int, Int, Long)] = failAfter(60.seconds) {
    val rows = data.asInstanceOf[classic.Dataset[Row]].queryExecution.toRdd
    val read: RDD[(Int, Int, Long)] = new WorkerRDD(rows, 2).barrier().mapPartitions { partitions =>
      partitions.flatMap { case (partition, rows) =>
        rows.map(row => (TaskContext.getPartitionId(), partition, row.getLong(0)))
      }
    }
    read.repartition(1).collect().toSeq
  }

  private def sources: Seq[(String, () => DataFrame, Seq[Long])] = {
    val parquet = temporary("parquet").resolve("range").toString
    range(1000, 7).write.parquet(parquet)
    val cached = range(1000, 7).cache()
    Seq(
      ("seven partitions", () => range(1000, 7), 0L until 1000L),
      ("a Parquet scan", () => spark.read.parquet(parquet), 0L until 1000L),
      (
        "an aggregate under adaptive execution",
        () => range(1000, 7).groupBy((col("id") % 100).as("id")).agg(count("*")).select("id"),
        0L until 100L),
      ("a join", () => range(1000, 7).join(range(500, 3), "id"), 0L until 500L),
      ("a cached DataFrame", () => cached, 0L until 1000L),
      ("the cached DataFrame again", () => cached, 0L until 1000L),
      (
        "a union",
        () => range(1000, 7).union(range(10, 2)).coalesce(3),
        (0L until 1000L) ++ (0L until 10L)),
      ("fewer partitions than workers", () => range(10, 1), 0L until 10L),
      ("no partition at all", () => spark.emptyDataFrame.selectExpr("1L as id").limit(0), Seq.empty))
  }

  test("every row of any source reaches exactly one worker") {
    sources.foreach { case (name, source, expected) =>
      withClue(name)(assert(readByWorkers(source()).map(_._3).sorted == expected.sorted))
    }
  }

  test("the source partition of each row is told, ascending within a worker") {
    val read = readByWorkers(range(70, 7))
    assert(read.forall { case (_, partition, id) => partition == id / 10 })
    read.groupBy(_._1).values.foreach { ofWorker =>
      assert(ofWorker.map(_._2) == ofWorker.map(_._2).sorted)
    }
  }

  test("a worker prefers the hosts that hold most of its partitions") {
    val rows = spark.sparkContext.makeRDD(
      Seq(1 -> Seq("a"), 2 -> Seq("b"), 3 -> Seq("a", "c"), 4 -> Seq("b"), 5 -> Seq("a"), 6 -> Seq.empty))
    val workers = new WorkerRDD(rows, 2)
    assert(workers.partitions.map(workers.preferredLocations).toSeq == Seq(Seq("a", "c"), Seq("b")))
  }

  test("the barrier stage reads no shuffled byte when the source has none") {
    val bytes = mutable.Map.empty[Int, Long]
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = bytes.synchronized {
        val read = end.taskMetrics.shuffleReadMetrics.totalBytesRead
        bytes(end.stageId) = bytes.getOrElse(end.stageId, 0L) + read
      }
    }
    spark.sparkContext.addSparkListener(listener)
    readByWorkers(range(1000, 7))
    spark.sparkContext.listenerBus.waitUntilEmpty()
    spark.sparkContext.removeSparkListener(listener)
    assert(bytes.size == 2, "one barrier stage, and the single task behind it")
    assert(bytes(bytes.keys.min) == 0L)
  }
}
