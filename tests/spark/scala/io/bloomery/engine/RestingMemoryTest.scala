package io.bloomery.engine

import io.bloomery.{EngineSuite, Tiny}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

class RestingMemoryTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  test("the memory of rows rests for the next fit, and goes back to the system after a while") {
    val classifier = Tiny.classifier.setEpochs(1)
    val rested = Seq.fill(2) {
      classifier.fit(Tiny.data(spark))
      assertNothingIsAlive()
      RestingMemory.bytes
    }
    assert(rested.head > 0)
    assert(rested.distinct.size == 1)
    RestingMemory.returnLater(50)
    eventually(timeout(5.seconds), interval(20.millis))(assert(RestingMemory.bytes == 0))
  }
}
