package org.apache.spark.bloomery

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

class FitClockTest extends AnyFunSuite {
  private def micros(seconds: Double): Long = (seconds * 1e6).toLong

  private val times = FitTimes(micros(2), micros(3), micros(10))

  test("phases follow each other and add up to the whole fit") {
    assert(
      times.phases(micros(1), micros(10.5), training = 4, validation = 1) == Seq(
        "preparing" -> 1.0,
        "starting" -> 1.0,
        "loading" -> 2.0,
        "training" -> 4.0,
        "validation" -> 1.0,
        "returning" -> 0.5))
  }

  test("epochs that were trained before do not make the fit longer") {
    val phases = times.phases(micros(1), micros(11), training = 100, validation = 5).toMap
    assert(phases("training") == 7 && phases("loading") == 0 && phases("validation") == 0 && phases.values.sum == 10)
  }

  test("a later attempt counts, and what came before it belongs to the start") {
    val clock = new FitClock
    clock.submit()
    clock.meet()
    val first = clock.times
    Thread.sleep(2)
    clock.submit()
    clock.meet()
    clock.finish()
    assert(clock.times.submitted == first.submitted && clock.times.met > first.met)
    assert(clock.times.finished >= clock.times.met)
  }

  test("the peak of a process is what Linux says, and unknown where it says nothing") {
    val status = Files.createTempFile("status", "")
    try {
      Files.writeString(status, "VmPeak:\t  900 kB\nVmHWM:\t    512 kB\nVmRSS:\t 100 kB\n")
      assert(PeakMemory.bytes(status).contains(512L << 10))
      Files.writeString(status, "Name:\tjava\n")
      assert(PeakMemory.bytes(status).isEmpty)
    } finally Files.delete(status)
  }
}
