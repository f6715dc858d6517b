package io.bloomery

import java.nio.file.{Files, Path}

import io.bloomery.network._
import org.apache.spark.ml.functions.array_to_vector
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, expr, udf}
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** Fits on rows that Spark filters or computes with, of which the engine reads the long columns from the files. */
class PickedFitTest extends AnyFunSuite with InputPaths {

  private def classifier: NeuralNetClassifier = classifierOf(Input(4))

  private def fit(data: DataFrame, path: String): NeuralNetClassificationModel = fit(data, path, classifier)

  private def data: DataFrame = Tiny.data(spark, partitions = 3).withColumn("held", col("id") % 4 === 0)

  /** The same model, by the rows' values, ids and order, as when Spark reads all columns. */
  private def assertSame(data: DataFrame, rows: Long, of: NeuralNetClassifier = classifier): Unit = {
    val picked = fit(data, "auto", of)
    val bySpark = fit(data, "rows", of)
    assert(picked.summary.input.matches("mixed: .*; the engine reads .* of \\d+ files?"), picked.summary.input)
    assert(bySpark.summary.input == "rows: spark.bloomery.input.path is rows")
    assert(picked.summary.history.map(_.samples) == Seq(rows, rows))
    assert(distance(picked, bySpark) == 0)
  }

  test("rows that are left are those that Spark would give") {
    val files = read(write(data))
    val half = udf((id: Long) => id * 7 % 5 < 2)
    Seq[(String, Long, DataFrame)](
      ("all", 600, files.where("id >= 0")),
      ("every second", 300, files.where("id % 2 = 0")),
      ("a few", 3, files.where("id in (3, 250, 599)")),
      ("one row group", 5, files.where("id between 101 and 105")),
      ("the first file", 200, files.where("id < 200")),
      ("the last file", 100, files.where("id >= 500")),
      ("a function of the user", 240, files.where(half(col("id")))),
      ("a condition on the label", 400, files.where("label > 0")),
      ("a choice and other names", 300, files.select("label", "features", "id").where("id % 2 = 1").drop("id")),
      ("a sample", files.sample(0.3, 7).count(), files.sample(0.3, 7)),
      ("a computed label", 600, files.withColumn("label", expr("(label + id) % 3"))),
      (
        "both, one on the other",
        300,
        files.withColumn("label", expr("(label + id) % 3")).where("label + id % 2 >= 1 and id < 450")
          .where("id % 3 < 2"))).foreach { case (name, _, rows) =>
      withClue(name)(assertSame(rows, rows.count()))
    }
    assertNothingIsAlive()
  }

  test("columns of every kind come as Spark's reader gives them") {
    val toSparse = udf((vector: Vector) => vector.toSparse: Vector)
    val halfZero = expr("transform(features, (x, i) -> if(i % 2 = 0, x, 0f))")
    val words = expr("transform(features, x -> concat('w', cast(abs(x) * 10 as int) % 5))")
    val texts = classifierOf(Input(4), Embedding(8, 3), Flatten())
      .setFeaturesCols(Array("""{"column": "features", "vocabulary": ["w0", "w1", "w2", "w3", "w4"]}"""))
    Seq[(String, DataFrame, NeuralNetClassifier)](
      ("floats", data, classifier),
      ("doubles", data.withColumn("features", col("features").cast("array<double>")), classifier),
      (
        "whole numbers",
        data.withColumn("features", expr("transform(features, x -> cast(x * 10 as smallint))")),
        classifier),
      (
        "bytes",
        data.withColumn("features", expr("unhex(lpad(hex(id), 8, '0'))")),
        classifierOf(Input(4, dtype = "uint8"))),
      ("vectors", data.withColumn("features", array_to_vector(col("features"))), classifier),
      ("sparse vectors", data.withColumn("features", toSparse(array_to_vector(halfZero))), classifier),
      (
        "arrays of arrays",
        data.withColumn("features", expr("array(slice(features, 1, 2), slice(features, 3, 2))")),
        classifier),
      ("validation", data, classifier.setValidationIndicatorCol("held")),
      ("weights", data.withColumn("w", col("id") % 3 + 1), classifier.setWeightCol("w")),
      ("texts", data.withColumn("features", words), texts)).foreach { case (name, data, of) =>
      withClue(name) {
        val rows = read(write(data)).where("id % 5 != 1")
        val count = if (name == "validation") rows.where("not held").count() else rows.count()
        assertSame(rows, count, of)
      }
    }
    assertNothingIsAlive()
  }

  test("folders and a share for validation are as they are in rows") {
    val files = read(write(data.withColumn("day", col("id") % 3), "day"))
    assertSame(files.where("day = 1 and id > 30"), files.where("day = 1 and id > 30").count())
    val shared = classifier.setValidationFraction(0.25)
    val rows = files.where("id > 30")
    val (picked, bySpark) = (fit(rows, "mixed", shared), fit(rows, "rows", shared))
    assert(picked.summary.history.map(_.samples) == bySpark.summary.history.map(_.samples))
    assert(distance(picked, bySpark) == 0)
  }

  test("a bare scan whose label the engine would read otherwise keeps the ids of its files") {
    val folder = write(data)
    val files = spark.read.schema("features array<float>, label bigint").parquet(folder.toString)
    val picked = fit(files, "auto")
    assert(picked.summary.input.startsWith("mixed: column label is not BIGINT in every file, file "))
    assert(distance(picked, fit(files, "columnar")) == 0)
    assert(distance(picked, fit(read(folder), "mixed")) == 0)
    assert(distance(picked, fit(read(folder), "parquet")) < 1e-4)
  }

  test("two workers share the partitions") {
    val rows = read(write(data)).where("id % 2 = 0")
    val model = fit(rows, "auto", Tiny.classifier.setNumWorkers(2))
    assert(model.summary.input.startsWith("mixed: "))
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(300L))
    assert(model.summary.history.last.metrics("accuracy") > 0.8)
    val workers = (0 until 2).map(model.summary.workerHistory(_).head.rows)
    assert(workers.sum == 300 && workers.forall(_ > 0), workers)
    assertNothingIsAlive()
  }

  test("files that Spark cuts in pieces come whole") {
    val files = read(write(data))
    val key = "spark.sql.files.maxPartitionBytes"
    try {
      spark.conf.set(key, "3000")
      val rows = files.where("id % 3 > 0")
      assert(rows.rdd.getNumPartitions > 6)
      assertSame(rows, 400)
    } finally spark.conf.unset(key)
    assertNothingIsAlive()
  }

  test("rows keep their places where Spark skips pages") {
    val folder = temporary("fit").resolve("data")
    Tiny.data(spark, partitions = 1).sort("id").coalesce(1).write
      .option("parquet.page.row.count.limit", "10")
      .parquet(folder.toString)
    assertSame(read(folder).where("id between 101 and 125 or id between 303 and 307"), 30)
    assertNothingIsAlive()
  }

  test("row groups of which Spark leaves nothing are not read") {
    val folder = temporary("fit").resolve("data")
    Tiny.data(spark, partitions = 1).sort("id").coalesce(1).write
      .option("parquet.block.size", "2000")
      .option("parquet.page.size.row.check.min", "20")
      .option("parquet.page.size.row.check.max", "20")
      .parquet(folder.toString)
    // Spoils the first page of the features, which only the first row group needs.
    val file = filesOf(folder).head
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    val bytes = Files.readAllBytes(file)
    (40 until 60).foreach(i => bytes(i) = (bytes(i) ^ 0x55).toByte)
    Files.write(file, bytes)
    val files = read(folder)
    assert(fit(files.where("id >= 300"), "mixed").summary.history.map(_.samples) == Seq(300L, 300L))
    val error = intercept[UserError](fit(files.where("id >= 0"), "mixed")).getMessage
    assert(error.startsWith("Not a readable Parquet file; write it again or remove it: "), error)
    assertNothingIsAlive()
  }

  test("where Spark has to read the long columns, it reads all, and says why") {
    val folder = write(data)
    val files = read(folder)
    val refused = s"$PathKey is mixed, but Spark has to read all columns: "
    Seq[(String, () => DataFrame)](
      "no arrays, vectors, images or binaries of its files come as they are" -> (() => files.where("features[0] < 9")),
      "no arrays, vectors, images or binaries of its files come as they are" ->
        (() => files.withColumn("features", expr("transform(features, x -> x * 2)"))),
      "Spark makes its rows one by one (" -> (() => files.where("id >= 0").repartition(2)),
      "Spark makes its rows one by one (" -> (() => files.where("id >= 0").limit(600)),
      "Spark makes its rows one by one (" -> (() => files.sample(withReplacement = true, 0.5, 3)),
      "Spark makes its rows one by one (InMemoryTableScan)" -> (() => files.select("features", "label").cache()),
      "mergeSchema is set" ->
        (() => spark.read.option("mergeSchema", "true").parquet(folder.toString).where("id >= 0"))).foreach {
      case (why, make) =>
        withClue(why) {
          val rows = make()
          val error = intercept[UserError](fit(rows, "mixed")).getMessage
          assert(error.startsWith(refused + why), error)
          assert(!fit(rows, "auto").summary.input.startsWith("mixed"))
          rows.unpersist()
        }
    }
  }

  test("what is wrong with a row or a file is told as on the other ways") {
    val wrong = read(write(data.withColumn("label", expr("if(id = 250, 40, label)"))))
    def told(path: String): String = intercept[UserError](fit(wrong.where("id % 2 = 0"), path)).getMessage
    assert(told("mixed") == told("rows"))
    assert(told("mixed").matches("Label out of range: 40, classes: 3, column 'label', row \\d+ of partition \\d;.*"))
    val ragged = read(write(data.withColumn("features", expr("if(id = 250, array(1f), features)"))))
    def raggedTold(path: String): String = intercept[UserError](fit(ragged.where("id % 2 = 0"), path)).getMessage
    assert(raggedTold("mixed") == raggedTold("rows"))
    assert(raggedTold("mixed").contains("column 'features', row "), raggedTold("mixed"))

    val folder = write(data)
    val rows = read(folder).where("id % 2 = 0")
    val file = filesOf(folder)(1)
    val bytes = Files.readAllBytes(file)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    Files.write(file, bytes.take(bytes.length / 2))
    val changed = intercept[UserError](fit(rows, "auto")).getMessage
    assert(changed.startsWith("File has changed since the DataFrame was made; refresh the DataFrame and fit again: "))
    Files.delete(file)
    val gone = intercept[UserError](fit(rows, "auto")).getMessage
    assert(gone.startsWith("File is no longer there; refresh the DataFrame and fit again: "), gone)
    assertNothingIsAlive()
  }

  private def filesOf(folder: Path): Seq[Path] =
    Files.walk(folder).iterator().asScala.filter(_.toString.endsWith(".parquet")).toSeq.sorted
}
