package org.apache.spark.sql.bloomery

import java.net.URI

import org.apache.hadoop.fs.{BlockLocation, FileStatus, RawLocalFileSystem}
import org.apache.spark.bloomery.SparkSuite
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

/** Files of this machine by another scheme, that lie on hosts with the numbers of their parts. */
final class PlacedFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("placed:///")
  override def getScheme: String = "placed"

  private val Part = """part-(\d+)-.*""".r

  override def getFileBlockLocations(file: FileStatus, start: Long, length: Long): Array[BlockLocation] =
    file.getPath.getName match {
      case Part(number) =>
        val host = s"host${number.toInt}"
        Array(new BlockLocation(Array(s"$host:9866"), Array(host, "localhost"), 0, file.getLen))
      case _ => Array.empty
    }
}

class ParquetPlanTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[1]"
  override def settings: Map[String, String] = Map("spark.hadoop.fs.placed.impl" -> classOf[PlacedFileSystem].getName)

  test("a worker prefers the hosts that hold its row groups") {
    val folder = s"placed:${temporary("plan").resolve("data")}"
    spark.range(0, 400, 1, 4).write.parquet(folder)
    val files = spark.read.parquet(folder).select("id").asInstanceOf[classic.Dataset[Row]]
    val plan = ParquetPlan.of(files, 2).toOption.get
    assert(plan.workers.map(_.map(_.index)) == Seq(Seq(0, 2), Seq(1, 3)))
    assert(plan.hosts == Seq(Seq("host0", "host2"), Seq("host1", "host3")))
  }

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
    assert(plan.fileColumns.encodedTexts == Set("word", "words"))
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
