package io.bloomery

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

/** Rows beyond dataMemory, on a session that wants files encrypted. */
class SpillTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map("spark.io.encryption.enabled" -> "true")

  test("a fit whose rows do not fit into memory gives the same weights and leaves nothing behind") {
    val data = Tiny.data(spark, rows = 150000)
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(2).setBatchSize(500)
    val weights = failAfter(120.seconds)(classifier.fit(data)).weights.toSeq
    assert(failAfter(120.seconds)(classifier.setDataMemory(0).fit(data)).weights.toSeq == weights)
    assertNothingIsAlive()
  }

  test("a negative dataMemory is refused before any job") {
    val error = intercept[UserError](Tiny.classifier.setDataMemory(-1).fit(Tiny.data(spark)))
    assert(error.getMessage.contains("dataMemory -1"))
  }
}
