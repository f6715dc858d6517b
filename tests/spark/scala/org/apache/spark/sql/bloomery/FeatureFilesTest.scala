package org.apache.spark.sql.bloomery

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.util.concurrent.atomic.AtomicLong

import io.bloomery.{InputPaths, Tiny}
import org.apache.spark.bloomery.JobLog
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.functions.col
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** Predictions whose features the engine reads from Parquet files: those of Spark's own reader. */
class FeatureFilesTest extends AnyFunSuite with InputPaths {
  private val Predictions = Seq("prediction", "probability", "rawPrediction")
  private val Rows = 1200L

  private lazy val model = Tiny.classifier.fit(Tiny.data(spark))

  /** Four files of many small row groups in two folders. */
  private lazy val folder: Path =
    write(
      Tiny.data(spark, Rows, partitions = 2).selectExpr(Tiny.manyTypes :+ "id % 2 as half": _*),
      partitionBy = "half")

  private def having[T](settings: (String, String)*)(body: => T): T = {
    settings.foreach { case (name, value) => spark.conf.set(name, value) }
    try body
    finally settings.foreach { case (name, _) => spark.conf.unset(name) }
  }

  private def bySpark[T](body: => T): T = having(PathKey -> "columnar")(body)

  private def predicted(data: DataFrame, kept: Seq[String]): DataFrame =
    model.transform(data).select((kept ++ Predictions).map(col): _*)

  /** What the engine would read of each partition of the prediction; nothing where it is not asked. */
  private def engine(frame: DataFrame): Seq[Option[Long]] = {
    def below(rdd: RDD[_]): Seq[FeatureFilesRDD] = rdd match {
      case found: FeatureFilesRDD => Seq(found)
      case other => other.dependencies.flatMap(dependency => below(dependency.rdd))
    }
    below(frame.asInstanceOf[classic.Dataset[Row]].queryExecution.toRdd).flatMap { rdd =>
      rdd.partitions.toSeq.map(rdd.partsOf(_).map { case (_, rows) => rows })
    }
  }

  /** The same rows; of another number of rows at once, a prediction may round otherwise. */
  private def assertSame(found: Seq[Row], wanted: Seq[Row]): Assertion = {
    assert(found.size == wanted.size)
    found.zip(wanted).foreach { case (a, b) =>
      a.toSeq.zip(b.toSeq).foreach {
        case (x: Vector, y: Vector) =>
          x.toArray.zip(y.toArray).foreach { case (p, q) => assert(math.abs(p - q) < 1e-5) }
        case (x, y) => assert(x == y)
      }
    }
    assertNothingIsAlive()
  }

  test("rows are those of Spark's reader, whatever goes on beside the predictions and however files are cut") {
    for {
      cut <- Seq("128m", "6k")
      kept <-
        Seq(
          Seq.empty,
          Seq("id"),
          Seq("half"),
          Seq("half", "nested", "text"),
          read(folder).columns.toSeq.filter(_ != "features"))
    } having("spark.sql.files.maxPartitionBytes" -> cut) {
      val ours = predicted(read(folder), kept)
      val shares = engine(ours)
      assert(shares.flatten.sum == Rows && shares.forall(_.isDefined))
      if (cut == "6k") assert(shares.size > 8)
      assertSame(ours.collect().toSeq, bySpark(predicted(read(folder), kept).collect().toSeq))
    }
  }

  test("where the features go on, or rows are filtered, Spark reads") {
    val data = read(folder)
    Seq(
      model.transform(data).select("features", "prediction"),
      predicted(data.where("id > 3"), Seq("id")),
      predicted(data.where("half = 1 and id > 3"), Seq.empty)).foreach { frame =>
      withClue(frame.queryExecution.executedPlan)(assert(engine(frame).isEmpty))
    }
    bySpark(assert(engine(predicted(data, Seq.empty)).isEmpty))
    assert(engine(predicted(data.where("half = 1"), Seq("id"))).flatten.sum == Rows / 2)
  }

  test("the first rows, and none") {
    val first = predicted(read(folder), Seq("id"))
    assertSame(first.limit(45).collect().toSeq, bySpark(predicted(read(folder), Seq("id")).limit(45).collect().toSeq))
    val none = temporary("none").resolve("data").toString
    read(folder).where("id < 0").drop("half").write.parquet(none)
    assert(predicted(spark.read.parquet(none), Seq("id")).collect().isEmpty)
    assertNothingIsAlive()
  }

  private def rowsRead(body: => Any): Long = {
    val rows = new AtomicLong
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = {
        rows.addAndGet(end.taskMetrics.inputMetrics.recordsRead)
        ()
      }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      body
      JobLog.awaitEvents(spark.sparkContext)
      rows.get()
    } finally spark.sparkContext.removeSparkListener(listener)
  }

  test("rows read count once") {
    Seq(Seq.empty, Seq("id")).foreach { kept =>
      val frame = predicted(read(folder), kept)
      assert(rowsRead(frame.collect()) == Rows)
      val scans = frame.queryExecution.executedPlan.collectLeaves()
      assert(scans.map(_.metrics("numOutputRows").value) == Seq(Rows))
    }
  }

  private def fileOf(folder: Path): Path =
    Files.walk(folder).iterator().asScala.filter(_.toString.endsWith(".parquet")).min

  test("a file that was written anew is read as Spark finds it") {
    val copy = write(Tiny.data(spark, 500, 1))
    val data = read(copy)
    val expected = bySpark(predicted(data, Seq("id")).collect().toSeq)
    Files.setLastModifiedTime(fileOf(copy), FileTime.fromMillis(1000))
    val ours = predicted(data, Seq("id"))
    assert(engine(ours) == Seq(None))
    assertSame(ours.collect().toSeq, expected)
  }

  test("what is wrong with a file is one sentence") {
    val copy = write(Tiny.data(spark, 2000, 1))
    val file = fileOf(copy)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    val data = read(copy)
    val time = Files.getLastModifiedTime(file)
    val bytes = Files.readAllBytes(file)
    (bytes.length / 2 until bytes.length / 2 + 600).foreach(i => bytes(i) = (~bytes(i)).toByte)
    Files.write(file, bytes)
    Files.setLastModifiedTime(file, time)
    val error = intercept[Exception](predicted(data, Seq.empty).collect())
    assert(error.getMessage.contains(s"Not a readable Parquet file; write it again or remove it: file:$file"))
    assertNothingIsAlive()
  }
}
