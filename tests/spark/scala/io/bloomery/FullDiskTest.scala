package io.bloomery

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite
import scala.sys.process._

/** Local directories on a disk of a few megabytes, which only root can make. */
class FullDiskTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map("spark.local.dir" -> disk.toString)

  private lazy val disk: Path = Files.createTempDirectory("disk")
  private lazy val isMounted =
    Seq("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk.toString).!(ProcessLogger(_ => ())) == 0

  override def afterAll(): Unit = {
    super.afterAll()
    if (isMounted) Seq("umount", "--lazy", disk.toString).!
  }

  private def classifier: NeuralNetClassifier =
    Tiny.classifier.setBatchSize(1000).setEpochs(1).setNumWorkers(2).setDataMemory(2L << 20)

  test("a disk that is full while rows go to it is named, and is free again afterwards") {
    assume(isMounted)
    val (error, counts) = failing[ResourceError](classifier.fit(Tiny.data(spark, rows = 600000)))
    assert(counts.barrierTasks == 2)
    assertNothingIsAlive()
    val full = error.getMessage
    assert(full.startsWith(s"Rows beyond dataMemory cannot be kept on disk: folder $disk/blockmgr-"), full)
    assert(
      full.contains("No space left on device") && full.endsWith("raise dataMemory, or give a folder with more space"))
    // What went there is gone, and less than the disk has does fit.
    assert(classifier.fit(Tiny.data(spark, rows = 100000)).summary.history.head.samples == 100000)
  }
}
