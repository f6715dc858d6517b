package io.bloomery

import java.io.{InterruptedIOException, IOException}
import java.net.URI
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.fs.{FSDataInputStream, FSInputStream, Path, RawLocalFileSystem}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.concurrent.{Await, ExecutionContext, Future}

/** Files of this machine by another scheme, whose reads by the engine's threads can be made to wait or to fail. */
final class OddFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("odd:///")
  override def getScheme: String = "odd"

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    val file = super.open(path, bufferSize)
    new FSDataInputStream(new FSInputStream {
      override def read(position: Long, buffer: Array[Byte], offset: Int, length: Int): Int = {
        if (Thread.currentThread().getName == "bloomery-scan") OddFileSystem.disturb()
        file.read(position, buffer, offset, length)
      }
      override def read(): Int = file.read()
      override def read(buffer: Array[Byte], offset: Int, length: Int): Int = file.read(buffer, offset, length)
      override def seek(position: Long): Unit = file.seek(position)
      override def getPos: Long = file.getPos
      override def seekToNewSource(position: Long): Boolean = false
      override def close(): Unit = {
        OddFileSystem.open.decrementAndGet()
        file.close()
      }
      OddFileSystem.open.incrementAndGet()
    })
  }
}

object OddFileSystem {
  val open, failures = new AtomicInteger
  @volatile var waits = false
  @volatile var waiting = new CountDownLatch(1)

  def disturb(): Unit = {
    if (failures.getAndUpdate(left => math.max(left - 1, 0)) > 0) throw new IOException("the line is down")
    if (waits) {
      waiting.countDown()
      try Thread.sleep(60000)
      catch { case _: InterruptedException => throw new InterruptedIOException }
    }
  }
}

class OtherFileSystemTest extends AnyFunSuite with EngineSuite {
  private implicit val threads: ExecutionContext = ExecutionContext.global

  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map("spark.hadoop.fs.odd.impl" -> classOf[OddFileSystem].getName)

  private lazy val folder = {
    val folder = s"odd:${temporary("odd").resolve("data")}"
    Tiny.data(spark, partitions = 20).write.parquet(folder)
    folder
  }

  private def classifier: NeuralNetClassifier = Tiny.classifier.setNumWorkers(2)

  test("any file system of Hadoop's is read, and its streams are closed") {
    val model = failAfter(60.seconds)(classifier.fitOnParquet(folder))
    assert(model.summary.input == "parquet: 600 rows in 20 row groups of 20 files")
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(600L))
    assert(model.summary.history.last.metrics("accuracy") > 0.8)
    assert(OddFileSystem.open.get() == 0)
    assertNothingIsAlive()
  }

  test("a read that fails is Spark's to try again") {
    OddFileSystem.failures.set(1)
    val model = failAfter(60.seconds)(classifier.fitOnParquet(folder))
    assert(OddFileSystem.failures.get() == 0)
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(600L))
    assert(OddFileSystem.open.get() == 0)
    assertNothingIsAlive()
  }

  test("the share of rows for validation is the same when Spark tries again") {
    def history(failures: Int): Seq[(Long, Double, Option[Double])] = {
      OddFileSystem.failures.set(failures)
      val model = failAfter(60.seconds)(classifier.setValidationFraction(0.25).setEpochs(2).fitOnParquet(folder))
      assert(OddFileSystem.failures.get() == 0)
      model.summary.history.map(epoch => (epoch.samples, epoch.loss, epoch.validationLoss))
    }
    val undisturbed = history(failures = 0)
    assert(undisturbed.forall { case (samples, _, loss) => samples > 400 && samples < 500 && loss.isDefined })
    assert(history(failures = 1) == undisturbed)
  }

  test("a fit that waits for bytes ends within two seconds when it is cancelled") {
    val before = spark.read.parquet(folder)
    OddFileSystem.waits = true
    try {
      val fit = Future(classifier.fit(before))
      assert(OddFileSystem.waiting.await(30, TimeUnit.SECONDS), fit.value)
      val start = System.nanoTime()
      spark.sparkContext.cancelAllJobs()
      intercept[Cancelled](Await.result(fit, 10.seconds))
      assertNothingIsAlive()
      assert(OddFileSystem.open.get() == 0)
      assert(System.nanoTime() - start < 2e9)
    } finally OddFileSystem.waits = false
  }
}
