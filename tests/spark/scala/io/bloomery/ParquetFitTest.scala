package io.bloomery

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path}

import io.bloomery.network._
import org.apache.spark.ml.functions.array_to_vector
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.functions.{col, expr, udf}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.jdk.CollectionConverters._

/** As table formats are that hide some rows of their files. */
class OtherParquet extends ParquetFileFormat {
  override def shortName(): String = "other"
}

/** Fits on Parquet files: the engine reads them itself, and gets what Spark's reader would give it. */
class ParquetFitTest extends AnyFunSuite with InputPaths {

  private def classifier: NeuralNetClassifier = classifierOf(Input(4))

  private def fit(data: DataFrame, path: String): NeuralNetClassificationModel = fit(data, path, classifier)

  private def data: DataFrame = Tiny.data(spark, partitions = 3).withColumn("held", col("id") % 4 === 0)

  private def filesOf(folder: Path): Seq[Path] =
    Files.walk(folder).iterator().asScala.filter(_.toString.endsWith(".parquet")).toSeq.sorted

  private val toBytes = udf { (values: Seq[Float]) =>
    val buffer = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN)
    values.foreach(value => buffer.putFloat(value))
    buffer.array()
  }

  private val toSparse = udf { (vector: Vector) => vector.toSparse: Vector }

  test("the engine's reader and Spark's give the same rows with the same ids") {
    val halfZero = expr("transform(features, (x, i) -> if(i % 2 = 0, x, 0f))")
    val kinds = Seq[(String, DataFrame, Seq[String], NeuralNetClassifier)](
      ("floats", data, Seq.empty, classifier),
      ("doubles", data.withColumn("features", col("features").cast("array<double>")), Seq.empty, classifier),
      (
        "whole numbers",
        data.withColumn("features", expr("transform(features, x -> cast(x * 10 as smallint))")),
        Seq.empty,
        classifier),
      ("binary", data.withColumn("features", toBytes(col("features"))), Seq.empty, classifier),
      ("vectors", data.withColumn("features", array_to_vector(col("features"))), Seq.empty, classifier),
      (
        "sparse vectors",
        data.withColumn("features", toSparse(array_to_vector(halfZero))),
        Seq.empty,
        classifier),
      ("columns in another order", data.select("label", "held", "features", "id"), Seq.empty, classifier),
      ("validation", data, Seq.empty, classifier.setValidationIndicatorCol("held")),
      ("labels of folders", data, Seq("label"), classifier),
      ("weights of folders", data.withColumn("w", col("id") % 3 + 1), Seq("w"), classifier.setWeightCol("w")),
      ("labels of all widths", data.withColumn("label", col("label").cast("tinyint")), Seq.empty, classifier))
    kinds.foreach { case (name, data, folders, of) =>
      withClue(name) {
        val files = read(write(data, folders: _*))
        val byEngine = fit(files, "parquet", of)
        val bySpark = fit(files, "rows", of)
        assert(byEngine.summary.input.startsWith("parquet: 600 rows in "))
        assert(bySpark.summary.input == "rows: spark.bloomery.input.path is rows")
        assert(byEngine.summary.history.map(_.samples) == bySpark.summary.history.map(_.samples))
        assert(distance(byEngine, bySpark) < 1e-4)
        // The same rows with other ids end elsewhere.
        val others = fit(files.coalesce(1), "auto", of)
        assert(others.summary.input.startsWith("rows: the DataFrame is more than"))
        assert(distance(byEngine, others) > 1e-3)
      }
    }
    assertNothingIsAlive()
  }

  test("two workers share the row groups, and columns may have other names") {
    val files = read(write(data)).select(col("label").as("y"), col("features").as("x"))
    val model = fit(
      files,
      "auto",
      Tiny.classifier.setNumWorkers(2).setFeaturesCol("x").setLabelCol("y"))
    assert(model.summary.input.matches("parquet: 600 rows in \\d+ row groups of 3 files"))
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(600L))
    assert(model.summary.history.last.metrics("accuracy") > 0.8)
    assertNothingIsAlive()
  }

  test("a file of one row group leaves the other worker without rows") {
    val folder = temporary("fit").resolve("data")
    data.coalesce(1).write.parquet(folder.toString)
    val model = fit(read(folder), "parquet", Tiny.classifier.setNumWorkers(2).setEpochs(2))
    assert(model.summary.history.map(_.samples) == Seq(600L, 600L))
    assert(model.summary.input == "parquet: 600 rows in 1 row group of 1 file")
  }

  test("folders that are filtered out are not read") {
    val files = read(write(data.withColumn("day", col("id") % 3), "day"))
    val model = fit(files.where("day = 1"), "parquet")
    assert(model.summary.history.head.samples == 200)
    assert(distance(model, fit(files.where("day = 1"), "rows")) < 1e-4)
  }

  test("fitOnParquet takes a path") {
    val folder = write(data)
    val model = failAfter(60.seconds)(classifier.fitOnParquet(folder.toString))
    assert(model.summary.input.startsWith("parquet"))
    assert(distance(model, fit(read(folder), "parquet")) == 0)
  }

  test("what is not a bare scan, or may read otherwise, is read by Spark and says why") {
    val folder = write(data)
    val files = read(folder)
    def reader = spark.read
    val json = temporary("fit").resolve("json")
    data.write.json(json.toString)
    val more = "the DataFrame is more than columns of Parquet files"
    val oneByOne = "Spark makes its rows one by one"
    Seq[(String, String, () => DataFrame)](
      ("mixed", "its rows are filtered; ", () => files.where("id >= 0")),
      ("mixed", "column label is computed; ", () => files.withColumn("label", expr("abs(label)"))),
      ("rows", s"$more; $oneByOne (CollectLimit)", () => files.limit(600)),
      ("rows", s"$more; $oneByOne (", () => files.repartition(2)),
      ("rows", s"$more; $oneByOne (InMemoryTableScan)", () => files.cache()),
      ("mixed", "column label is computed; ", () => files.withColumn("label", col("label").cast("decimal(5,0)"))),
      ("columnar", "mergeSchema is set", () => reader.option("mergeSchema", "true").parquet(folder.toString)),
      (
        "columnar",
        "ignoreCorruptFiles is set",
        () => reader.option("ignoreCorruptFiles", "true").parquet(folder.toString)),
      (
        "columnar",
        "ignoreMissingFiles is set",
        () => reader.option("ignoreMissingFiles", "true").parquet(folder.toString)),
      (
        "mixed",
        "column label is not BIGINT in every file, file ",
        () => reader.schema("features array<float>, label bigint").parquet(folder.toString)),
      (
        "columnar",
        s"its files are read by ${classOf[OtherParquet].getName}",
        () => reader.format(classOf[OtherParquet].getName).load(folder.toString)),
      (
        "rows",
        s"its files are of another format: JSON; $oneByOne (Scan json)",
        () => reader.schema("features array<float>, label int").json(json.toString))).foreach { case (way, why, make) =>
      withClue(why) {
        val data = make()
        val model = fit(data, "auto")
        assert(model.summary.input.startsWith(s"$way: $why"))
        assert(model.summary.history.map(_.samples) == Seq(600L, 600L))
        val refused = intercept[UserError](fit(data, "parquet")).getMessage
        assert(refused.startsWith(s"$PathKey is parquet, but Spark has to read the rows: ${why.takeWhile(_ != ';')}"))
        data.unpersist()
      }
    }
    assert(
      intercept[UserError](
        fit(files, "orc")).getMessage == s"$PathKey must be auto, parquet, mixed, columnar or rows: orc")
    assertNothingIsAlive()
  }

  /** Does something to one of the files, then fits: what is said, without the folder. */
  private def errorOf(harm: Path => Unit, afterReading: Boolean): String = {
    val rows = data.select("features", "label")
    val folder = write(rows)
    val before = Option.when(afterReading)(read(folder))
    val file = filesOf(folder)(1)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    harm(file)
    val files = before.getOrElse(spark.read.schema(rows.schema).parquet(folder.toString))
    val (error, counts) = failing[UserError](fit(files, "auto"))
    assert(counts.jobs <= 1)
    assertNothingIsAlive()
    assert(error.getMessage.contains(file.toUri.getPath), error.getMessage)
    error.getMessage.replaceAll(s"file:/*${file.toUri.getPath}", "F")
  }

  private def cut(file: Path): Unit = {
    val bytes = Files.readAllBytes(file)
    Files.write(file, bytes.take(bytes.length / 2))
    ()
  }

  test("a bad file is named in one sentence") {
    val unreadable = "Not a readable Parquet file; write it again or remove it: F: "
    assert(errorOf(cut, afterReading = false).startsWith(unreadable))
    assert(
      errorOf(cut, afterReading = true).startsWith(
        "File has changed since the DataFrame was made; refresh the DataFrame and fit again: F, "))
    assert(errorOf(Files.delete, afterReading = true) ==
      "File is no longer there; refresh the DataFrame and fit again: F")
    // The footer stays, and the first page does not.
    def spoil(file: Path): Unit = {
      val bytes = Files.readAllBytes(file)
      (40 until 60).foreach(i => bytes(i) = (bytes(i) ^ 0x55).toByte)
      Files.write(file, bytes)
      ()
    }
    assert(errorOf(spoil, afterReading = false).startsWith(unreadable))
  }

  test("a wrong row is told with its file") {
    val folder = write(data.withColumn("label", expr("if(id = 250, 40, label)")))
    val (error, counts) = failing[UserError](fit(read(folder), "parquet", classifier.setNumWorkers(2)))
    assert(
      error.getMessage.matches(
        "Label out of range: 40, classes: 3, column 'label', row 50 of partition 1; .*, file file:.*parquet"),
      error)
    assert(counts.barrierTasks == 2)
    assertNothingIsAlive()
  }
}
