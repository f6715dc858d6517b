package io.bloomery

import java.nio.file.{Files, Path, StandardCopyOption}
import java.nio.file.attribute.FileTime

import io.bloomery.network.Input
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._
import scala.jdk.CollectionConverters._

/** Files that Spark's readers cannot read: told in one sentence as the engine's reader does, and tried once. */
class BadFilesTest extends AnyFunSuite with InputPaths {

  private def classifier: NeuralNetClassifier = classifierOf(Input(4)).setNumWorkers(2)

  private def data: DataFrame = Tiny.data(spark, partitions = 3)

  /** The ways on which Spark reads. */
  private val ways = Table[String, DataFrame => DataFrame, String](
    ("way", "of", "path"),
    ("filtered rows", _.where("id >= 0"), "rows"),
    ("filtered rows beside the engine", _.where("id >= 0"), "auto"),
    ("rows of a scan", identity[DataFrame], "rows"),
    ("batches of a scan", identity[DataFrame], "columnar"),
    ("behind a shuffle", _.where("id >= 0").repartition(2, col("id")), "auto"))

  private def fileOf(folder: Path, number: Int): Path =
    Files.walk(folder).iterator().asScala.filter(_.toString.endsWith(".parquet")).toSeq.sorted.apply(number)

  /** Files, and the path of one of them that may be harmed. */
  private def written(): (Path, Path) = {
    val folder = write(data)
    val file = fileOf(folder, 1)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    (folder, file)
  }

  private def pathOf(file: Path): String = s"file:${file.toUri.getPath}"

  /** Stages before a shuffle are Spark's own. */
  private val NoBarrier = Set("behind a shuffle")

  /** Nor does the barrier stage begin where the driver reads the footers. */
  private val NoBarrierByFooter = NoBarrier + "filtered rows beside the engine"

  /** What a fit on files of which one was harmed before says, for each way, with F for its path. */
  private def forEachWay(harm: Path => Unit, noBarrier: Set[String])(said: String => Unit): Unit =
    forAll(ways) { (way, of, path) =>
      val (folder, file) = written()
      harm(file)
      val files = spark.read.schema(data.schema).parquet(folder.toString)
      expectOnce(of(files), path, pathOf(file), noBarrier(way))(said)
    }

  private def expectOnce(files: DataFrame, path: String, file: String, noBarrier: Boolean)(
      said: String => Unit): Unit = {
    val (error, counts) = failing[UserError](fit(files, path, classifier))
    withClue(error.getMessage) {
      assert(!error.getMessage.contains('\n'))
      said(error.getMessage.replace(file, "F"))
    }
    assert(counts.barrierTasks == (if (noBarrier) 0 else 2))
    assertNothingIsAlive()
  }

  private def isOfSpark(error: Throwable): Boolean =
    Iterator.iterate(error)(_.getCause).takeWhile(Option(_).isDefined).exists {
      case spark: SparkThrowable => String.valueOf(spark.getCondition).startsWith("FAILED_READ_FILE")
      case _ => false
    }

  test("a file that vanished") {
    forAll(ways) { (way, of, path) =>
      val (folder, file) = written()
      val files = of(read(folder))
      Files.delete(file)
      expectOnce(files, path, pathOf(file), NoBarrierByFooter(way)) { said =>
        assert(said == "File is no longer there; refresh the DataFrame and fit again: F")
        ()
      }
    }
  }

  test("a file that was cut off") {
    def cut(file: Path): Unit = {
      val bytes = Files.readAllBytes(file)
      Files.write(file, bytes.take(bytes.length / 2))
      ()
    }
    forEachWay(cut, NoBarrierByFooter) { said =>
      assert(said.startsWith("Not a readable Parquet file; write it again or remove it: F: F is not a Parquet file"))
      ()
    }
  }

  test("a file that was replaced by another after the DataFrame was made") {
    // Of other rows, and of the same size but for the time at which it was written.
    val other = fileOf(write(data.where("id < 100")), 0)
    def replace(file: Path): Unit = {
      Files.copy(other, file, StandardCopyOption.REPLACE_EXISTING)
      ()
    }
    def touch(file: Path): Unit = {
      Files.setLastModifiedTime(file, FileTime.fromMillis(Files.getLastModifiedTime(file).toMillis + 1))
      ()
    }
    val changed = "File has changed since the DataFrame was made; refresh the DataFrame and fit again: F, "
    val everyWay = ways :+ (("files", identity[DataFrame] _, "parquet"))
    Seq[(Path => Unit, Boolean)]((replace, false), (touch, true)).foreach { case (harm, sameSize) =>
      everyWay.foreach { case (way, of, path) =>
        val (folder, file) = written()
        val files = of(read(folder))
        harm(file)
        val (error, counts) = failing[UserError](fit(files, path, classifier))
        val said = error.getMessage.replace(pathOf(file), "F")
        assert(said.matches(s"\\Q$changed\\E\\d+ bytes, was \\d+"), s"$way: $said")
        assert((said.stripPrefix(changed).split(" bytes, was ").distinct.length == 1) == sameSize, s"$way: $said")
        // Told by the driver, but where the engine's reader opens the files.
        assert(way == "files" || counts.barrierTasks == 0, way)
        assertNothingIsAlive()
      }
    }
  }

  test("rows in memory are those of the DataFrame, whatever became of its files") {
    val folder = write(data)
    val cached = read(folder).cache()
    assert(cached.count() == 600)
    Files.delete(fileOf(folder, 0))
    val other = fileOf(write(data.where("id < 100")), 0)
    Files.copy(other, fileOf(folder, 0), StandardCopyOption.REPLACE_EXISTING)
    Seq("auto", "rows").foreach { path =>
      assert(fit(cached, path, classifier).summary.history.head.samples == 600)
    }
    cached.unpersist()
    assertNothingIsAlive()
  }

  test("a file that is damaged") {
    // The footer stays, and pages do not.
    def spoil(file: Path): Unit = {
      val bytes = Files.readAllBytes(file)
      (4 until bytes.length / 2).foreach(i => bytes(i) = (bytes(i) ^ 0x55).toByte)
      Files.write(file, bytes)
      ()
    }
    forEachWay(spoil, NoBarrier) { said =>
      assert(said.startsWith("Not a readable Parquet file; write it again or remove it: F: "))
      ()
    }
  }

  /** Files of two kinds in one folder, the second in `part=2`. */
  private def mixed(one: DataFrame, other: DataFrame): (DataFrame, String) = {
    val folder = temporary("fit")
    one.coalesce(1).write.parquet(s"$folder/part=1")
    other.coalesce(1).write.parquet(s"$folder/part=2")
    (
      spark.read.schema(one.schema).parquet(folder.toString),
      s"file:${fileOf(folder.resolve("part=2"), 0).toUri.getPath}")
  }

  test("a column of another type in one file") {
    val kinds = Seq(
      ("label", "string", "'label': BINARY, wanted int, file F;"),
      ("features", "array<string>", "'features': BINARY, wanted float, file F;"))
    kinds.foreach { case (column, kind, told) =>
      val (files, file) = mixed(data, data.withColumn(column, col(column).cast(kind)))
      forAll(ways) { (way, of, path) =>
        expectOnce(of(files), path, file, NoBarrier(way)) { said =>
          assert(
            said == s"Wrong type of column $told write all files with one type, or read them apart and cast")
          ()
        }
      }
    }
  }

  test("Spark's own failure stays behind it") {
    val (files, _) = mixed(data, data.withColumn("label", col("label").cast("string")))
    forAll(ways) { (_, of, path) =>
      assert(isOfSpark(intercept[UserError](fit(of(files), path, classifier))))
    }
  }

  test("a column that is missing in one file is null there, which is told with the file where rows are a scan's") {
    val (files, file) = mixed(data, data.drop("label"))
    forAll(ways) { (way, of, path) =>
      val (error, counts) = failing[UserError](fit(of(files), path, classifier))
      assert(error.getMessage.startsWith("Label is null"), error.getMessage)
      assert(error.getMessage.contains("column 'label', row "), error.getMessage)
      assert(error.getMessage.endsWith(s", file $file") == way.endsWith("of a scan"), error.getMessage)
      assert(counts.barrierTasks == 2)
    }
    assertNothingIsAlive()
  }

  test("evaluate tells the same") {
    val model = classifier.fit(data)
    val folder = write(data)
    val files = read(folder)
    val file = fileOf(folder, 1)
    Files.delete(file)
    val error = intercept[UserError](model.evaluate(files))
    assert(
      error.getMessage ==
        s"File is no longer there; refresh the DataFrame and fit again: file:${file.toUri.getPath}")
    assertNothingIsAlive()
  }
}
