package org.apache.spark.sql.bloomery

import org.apache.spark.bloomery.SparkSuite
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

class ParquetPlanTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[1]"

  test("texts that all row groups keep in dictionaries stay there") {
    val folder = temporary("plan").resolve("data").toString
    spark
      .range(0, 2000, 1, 2)
      .selectExpr(
        "concat('w', id % 5) as word",
        "array(concat('w', id % 5)) as words",
        "concat(id * 7919, '-', id) as unlike",
        "id")
      .write
      .option("parquet.page.size.row.check.min", "100")
      .option("parquet.dictionary.page.size", "1000")
      .parquet(folder)
    val files = spark.read.parquet(folder).select(col("word").as("x"), col("words"), col("unlike"))
    val plan = ParquetPlan.of(files.select("x", "words", "unlike").asInstanceOf[classic.Dataset[Row]], 2).toOption.get
    assert(plan.encodedTexts == Set("word", "words"))
  }

  test("row groups are dealt in balance, each to one worker") {
    Seq(
      (Seq(10L, 10L, 10L, 10L), 2, Seq(Seq(0, 2), Seq(1, 3))),
      (Seq(1L, 1L, 1L, 3L), 2, Seq(Seq(3), Seq(0, 1, 2))),
      (Seq(5L), 3, Seq(Seq(0), Seq.empty, Seq.empty)),
      (Seq.empty[Long], 2, Seq(Seq.empty, Seq.empty)),
      (Seq(7L, 1L, 6L), 1, Seq(Seq(0, 1, 2)))).foreach { case (rows, workers, expected) =>
      assert(ParquetPlan.deal(rows, workers) == expected, rows)
    }
    val rows = Seq.tabulate(1000)(i => (i * 7919L) % 1009)
    val dealt = ParquetPlan.deal(rows, 7)
    assert(dealt.flatten.sorted == rows.indices)
    val loads = dealt.map(_.map(rows(_)).sum)
    assert(loads.max - loads.min <= rows.max)
  }
}
