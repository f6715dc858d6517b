package org.apache.spark.sql.bloomery

import io.bloomery.{EngineSuite, Tiny}
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

/** Predictions of Spark's columnar batches: the same rows as when Spark makes rows of them. */
class ColumnarPredictTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val model = Tiny.classifier.fit(Tiny.data(spark))

  /** Columns of many types, nulls and dictionaries among them, in more rows than a batch has. */
  private lazy val files: DataFrame = {
    val path = temporary("predict").resolve("data").toString
    Tiny.data(spark, rows = 12000, partitions = 2).selectExpr(Tiny.manyTypes :+ "id % 2 as half": _*).write.partitionBy(
      "half").parquet(path)
    spark.read.parquet(path)
  }

  private def takesBatches(frame: DataFrame): Boolean = {
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan
    plan.collectFirst { case predict: PredictExec => predict }.get.columnar.isDefined
  }

  /** With Spark's reader that makes rows one by one. */
  private def byRows[T](body: => T): T = {
    val setting = "spark.sql.parquet.enableVectorizedReader"
    spark.conf.set(setting, "false")
    try body
    finally spark.conf.unset(setting)
  }

  test("columns of all types come through as they do by rows, with the same predictions") {
    Seq(files.columns.toSeq, Seq("id"), Seq.empty).foreach { kept =>
      def predicted: DataFrame =
        model.transform(files).select((kept ++ Seq("prediction", "probability", "rawPrediction")).map(col): _*)
      assert(takesBatches(predicted))
      val batches = predicted.collect().toSeq
      val rows = byRows {
        assert(!takesBatches(predicted))
        predicted.collect().toSeq
      }
      assert(batches.size == 12000)
      assert(batches == rows)
    }
    assertNothingIsAlive()
  }

  test("a few rows out of many, and batches of few rows") {
    val setting = "spark.sql.parquet.columnarReaderBatchSize"
    def predicted: DataFrame = model.transform(files).select("id", "probability")
    val all = predicted.collect().map(row => row.getLong(0) -> row.get(1)).toMap
    assert(predicted.limit(45).collect().forall(row => all(row.getLong(0)) == row.get(1)))
    spark.conf.set(setting, "7")
    try {
      val few = predicted.collect()
      assert(few.length == 12000)
      few.foreach { row =>
        val (a, b) = (row.getAs[Vector](1), all(row.getLong(0)))
        a.toArray.zip(b.asInstanceOf[Vector].toArray).foreach { case (x, y) =>
          assert(math.abs(x - y) < 1e-5)
        }
      }
    } finally spark.conf.unset(setting)
    assertNothingIsAlive()
  }

  test("a cache's batches are taken; filtered rows and computed features are made by Spark") {
    val numbers = Tiny.data(spark).selectExpr("id", "features").cache()
    val expected = model.transform(Tiny.data(spark)).select("id", "probability").collect().toSeq
    assert(model.transform(numbers).select("id", "probability").collect().toSeq == expected)
    numbers.unpersist()
    assert(!takesBatches(model.transform(files.where("id > 3"))))
    assert(!takesBatches(model.transform(files.selectExpr("transform(features, x -> x * 2) as features"))))
    assert(takesBatches(model.transform(files.selectExpr("features", "id as number"))))
    assertNothingIsAlive()
  }
}
