package io.bloomery

import io.bloomery.network._
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.expr
import org.scalatest.funsuite.AnyFunSuite

/** Fits on columnar batches of Spark: the same rows with the same ids as when Spark makes rows of them. */
class ColumnarFitTest extends AnyFunSuite with InputPaths {

  private def classifier: NeuralNetClassifier = classifierOf(Input(4))

  private def fit(data: DataFrame, path: String): NeuralNetClassificationModel = fit(data, path, classifier)

  private def data: DataFrame =
    Tiny.data(spark, partitions = 3).withColumn("features", expr("transform(features, x -> float(int(x * 20)))"))

  private def assertSame(byBatches: NeuralNetClassificationModel, byRows: NeuralNetClassificationModel): Unit = {
    assert(byRows.summary.input.startsWith("rows: "))
    assert(byBatches.summary.history.map(_.samples) == byRows.summary.history.map(_.samples))
    assert(byBatches.summary.history.head.samples == 600)
    assert(weights(byBatches).forall(weight => !weight.isNaN))
    assert(distance(byBatches, byRows) == 0)
  }

  test("a row of a bare scan is known by its file, whoever reads it") {
    val folder = write(data)
    val files = spark.read.option("mergeSchema", "true").parquet(folder.toString)
    val byBatches = fit(files, "auto")
    assert(byBatches.summary.input == "columnar: mergeSchema is set")
    assertSame(byBatches, fit(files, "rows"))
    assert(distance(byBatches, fit(read(folder), "parquet")) < 1e-4)
    // The same rows with other ids end elsewhere.
    assert(distance(byBatches, fit(files.coalesce(1), "auto")) > 1e-3)
    assertNothingIsAlive()
  }

  test("files that are read in pieces, with labels of folders and on two workers") {
    val files = read(write(data, "label"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "4000")
    spark.conf.set("spark.sql.parquet.columnarReaderBatchSize", "64")
    try {
      val two = classifier.setNumWorkers(2)
      val byBatches = fit(files, "columnar", two)
      assert(byBatches.summary.input == s"columnar: $PathKey is columnar")
      assertSame(byBatches, fit(files, "rows", two))
    } finally {
      spark.conf.unset("spark.sql.files.maxPartitionBytes")
      spark.conf.unset("spark.sql.parquet.columnarReaderBatchSize")
    }
    assertNothingIsAlive()
  }

  test("ORC files and cached columns") {
    val folder = temporary("fit").resolve("orc")
    data.write.orc(folder.toString)
    val orc = fit(spark.read.orc(folder.toString), "auto")
    assert(orc.summary.input == "columnar: its files are of another format: ORC")
    assertSame(orc, fit(spark.read.orc(folder.toString), "rows"))
    val columns = data.selectExpr("label", "features[0] as a", "features[1] as b", "id % 7 as c", "id % 2 = 0 as d")
    val cached = columns.persist()
    try {
      val of = classifier.setFeaturesCols(Array("a", "b", "c", "d"))
      val byBatches = fit(cached, "auto", of)
      assert(byBatches.summary.input.startsWith("columnar: the DataFrame is more than columns"))
      assertSame(byBatches, fit(cached, "rows", of))
    } finally cached.unpersist()
    assertNothingIsAlive()
  }

  test("describe tells of batches, and what has to be rows says why") {
    val folder = write(data)
    val files = spark.read.option("mergeSchema", "true").parquet(folder.toString)
    val told = classifier.setNumWorkers(2).describe(files)
    assert(told.contains("columnar: mergeSchema is set") && told.contains("partitions: worker 0 gets"))
    assert(told.contains("a row is known by its file and its place in it"))
    val refused = intercept[UserError](fit(files.where("id > 5"), "columnar")).getMessage
    assert(refused == s"$PathKey is columnar, but Spark has to make rows: its rows are filtered")
    assertNothingIsAlive()
  }

  test("a wrong row is told with its place, and tried once") {
    val folder = write(data.withColumn("label", expr("if(id = 250, 40, label)")))
    val files = spark.read.option("mergeSchema", "true").parquet(folder.toString)
    val (error, counts) = failing[UserError](fit(files, "columnar", classifier.setNumWorkers(2)))
    assert(
      error.getMessage.matches(
        "Label out of range: 40, classes: 3, column 'label', row 50 of partition 1; .*, file file:.*parquet"),
      error)
    assert(counts.barrierTasks == 2)
    val ragged = write(data.withColumn("features", expr("if(id = 250, slice(features, 1, 3), features)")))
    val (other, _) = failing[UserError](fit(read(ragged), "columnar"))
    Seq("features", "row 50 of partition 1").foreach(part => assert(other.getMessage.contains(part)))
    val cut = write(data.withColumn("features", expr("if(id = 250, null, features)")))
    assertSame(
      fit(read(cut), "columnar", classifier.setNulls("zero")),
      fit(read(cut), "rows", classifier.setNulls("zero")))
    assertNothingIsAlive()
  }
}
