package io.bloomery

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import io.bloomery.network.{Dense, Input, Sequential}
import org.apache.spark.SparkEnv
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

/** Rows beyond dataMemory, on a session that wants files encrypted. */
class SpillTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  private lazy val localFolder = temporary("local")
  override def settings: Map[String, String] =
    Map("spark.io.encryption.enabled" -> "true", "spark.local.dir" -> localFolder.toString)

  test("a fit whose rows do not fit into memory gives the same weights and leaves nothing behind") {
    val data = Tiny.data(spark, rows = 150000)
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(2).setBatchSize(500)
    val weights = failAfter(120.seconds)(classifier.fit(data)).weights.toSeq
    assert(failAfter(120.seconds)(classifier.setDataMemory(0).fit(data)).weights.toSeq == weights)
    assertNothingIsAlive()
  }

  /** What lies in files of Spark's local directory that have no name any more, and are open in this process. */
  private def nameless(): Seq[String] = {
    val open = Using.resource(Files.list(Path.of("/proc/self/fd")))(_.iterator().asScala.toSeq)
    val targets = open.flatMap(file => Try(file -> Files.readSymbolicLink(file).toString).toOption)
    val rows = targets.filter { case (_, target) =>
      target.endsWith(" (deleted)") && target.startsWith(s"$localFolder/blockmgr-")
    }
    // Each may be open more than once.
    rows.distinctBy(_._2).map { case (file, _) => new String(Files.readAllBytes(file), ISO_8859_1) }
  }

  test("rows on disk have no name, are gone after the fit, and cannot be read there where encryption is asked for") {
    val secret = "a secret that nobody should find"
    val data = spark
      .range(0, 60000, 1, 2)
      .selectExpr(s"cast(rpad('$secret', 100, ' ') as binary) as features", "int(id % 3) as label")
    val network = Sequential(Input(100, dtype = "uint8"), Dense(3, activation = "softmax"))
    def found(encrypted: Boolean): Seq[Boolean] = {
      var seen = Seq.empty[String]
      val look: EpochCallback = _ => { seen = nameless(); false }
      SparkEnv.get.conf.set("spark.io.encryption.enabled", encrypted.toString)
      val classifier = Tiny.classifier.setNetwork(network).setEpochs(1).setBatchSize(1000).setNumWorkers(2)
      failAfter(60.seconds)(classifier.setDataMemory(0).setCallbacks(look).fit(data))
      assert(nameless().isEmpty)
      assert(seen.map(_.length).sum > (4 << 20))
      seen.map(_.contains(secret))
    }
    assert(found(encrypted = false) == Seq(true, true))
    assert(found(encrypted = true) == Seq(false, false))
    assertNothingIsAlive()
  }

  test("a negative dataMemory is refused before any job") {
    val error = intercept[UserError](Tiny.classifier.setDataMemory(-1).fit(Tiny.data(spark)))
    assert(error.getMessage.contains("dataMemory -1"))
  }
}
