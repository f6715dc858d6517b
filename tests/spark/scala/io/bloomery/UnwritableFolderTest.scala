package io.bloomery

import java.nio.file.{Files, Path}

import org.apache.spark.bloomery.LocalRoots
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.funsuite.AnyFunSuite
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.sys.process._
import scala.util.Using

/** Executors whose local directories become read-only while they live, which only root can bring about. */
class UnwritableFolderTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local-cluster[2,1,1024]"
  override def settings: Map[String, String] = Map("spark.local.dir" -> disk.toString)

  private lazy val disk: Path = Files.createTempDirectory("disk")
  private lazy val isMounted = {
    LocalRoots.forget()
    UnwritableFolderTest.run("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk.toString)
  }

  override def afterAll(): Unit = {
    super.afterAll()
    LocalRoots.forget()
    if (isMounted) { UnwritableFolderTest.run("umount", "--lazy", disk.toString); () }
  }

  private val Worker = "rank [01], executor [01] on host \\S+"

  private def classifier: NeuralNetClassifier = Tiny.classifier.setBatchSize(1000).setEpochs(2).setNumWorkers(2)

  /** With the directory read-only, which it may have become before or becomes meanwhile. */
  private def thenWritable(body: => Unit): Unit = {
    try body
    finally UnwritableFolderTest.remount(disk.toString, "rw")
    assertNothingIsAlive()
    assert(Files.walk(disk).noneMatch(_.getFileName.toString.startsWith("bloomery-")))
  }

  /** Fits and expects the sentence, with who could not write; how many jobs Spark ran. */
  private def refusal(classifier: NeuralNetClassifier, data: DataFrame, who: String, tasks: Long = 6): Long = {
    val (error, counts) = failing[ResourceError](classifier.fit(data))
    val said = error.getMessage
    assert(said.startsWith("Spark's local directories cannot be written to"), said)
    assert(said.contains("make it writable, or set spark.local.dir to another"), said)
    val values = s"""$disk/\\S*blockmgr-[^\\s:]+: Read-only file system, $who$$"""
    assert(values.r.findFirstIn(said).isDefined, said)
    // Spark cannot know that trying again is in vain, but is stopped when it does.
    assert(counts.barrierTasks <= tasks)
    counts.jobs
  }

  test("the driver's local directories are looked at before any job") {
    assume(isMounted)
    val data = Tiny.data(spark, rows = 10000)
    val expected = classifier.fit(data).weights.toSeq
    thenWritable {
      UnwritableFolderTest.remount(disk.toString, "ro")
      assert(refusal(classifier, data, "driver on host \\S+") == 0)
    }
    assert(classifier.fit(data).weights.toSeq == expected)
  }

  test("executors' local directories are told of before the first step") {
    assume(isMounted)
    val data = Tiny.data(spark, rows = 10000)
    classifier.fit(data)
    // Those of the executors alone, whoever has files open there.
    val executors = Using.resource(Files.walk(disk))(_.iterator().asScala.toSeq)
      .filter(_.getFileName.toString.startsWith("executor-")).map(_.toString)
    assert(executors.size == 2)
    var epochs = 0
    val count: EpochCallback = _ => { epochs += 1; false }
    try {
      executors.foreach { folder =>
        assert(UnwritableFolderTest.run("mount", "--bind", folder, folder))
        assert(UnwritableFolderTest.run("mount", "-o", "remount,bind,ro", folder))
      }
      // Where no task of ours can even begin, Spark makes all of its attempts.
      assert(refusal(classifier.setCallbacks(count), data, s"($Worker|an executor)", tasks = 8) == 1)
    } finally executors.foreach(folder => UnwritableFolderTest.run("umount", "--lazy", folder))
    assert(epochs == 0)
    assertNothingIsAlive()
    assert(classifier.fit(data).summary.history.map(_.samples) == Seq(10000L, 10000L))
  }

  test("local directories that cannot be written to any more are told of when rows should go there") {
    assume(isMounted)
    val data = Tiny.data(spark, rows = 400000, partitions = 2)
    val expected = classifier.setDataMemory(0).fit(data).weights.toSeq
    // On one executor, behind its first rows; the other one has none yet, so that nobody writes there.
    val folder = disk.toString
    val cut = udf { (id: Long) =>
      if (id == 100) UnwritableFolderTest.remount(folder, "ro")
      if (id == 200000) Thread.sleep(5000)
      id
    }
    val held = data.withColumn("label", (col("label") + cut(col("id")) - col("id")).cast("int"))
    thenWritable {
      assert(refusal(classifier.setDataMemory(0), held, Worker) == 1)
    }
    assert(classifier.setDataMemory(0).fit(data).weights.toSeq == expected)
  }

  test("local directories that cannot be written to any more are told of when a worker has trained") {
    assume(isMounted)
    val cut: EpochCallback = record => {
      if (record.epoch == 1) UnwritableFolderTest.remount(disk.toString, "ro")
      false
    }
    thenWritable {
      assert(refusal(classifier.setCallbacks(cut), Tiny.data(spark, rows = 10000), Worker) == 1)
    }
  }
}

object UnwritableFolderTest {
  private def run(words: String*): Boolean = words.!(ProcessLogger(_ => ())) == 0

  /** Waits for whoever still writes a file there. */
  private def remount(folder: String, mode: String): Unit = {
    val deadline = 10.seconds.fromNow
    while (!run("mount", "-o", s"remount,$mode", folder)) {
      require(deadline.hasTimeLeft(), s"$folder cannot be mounted again: $mode")
      Thread.sleep(50)
    }
  }
}
