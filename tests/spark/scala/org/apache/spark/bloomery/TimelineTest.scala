package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.engine.Json

class TimelineTest extends AnyFunSuite {
  private def span(name: String, thread: String, start: Long): String =
    Json.obj("name" -> name, "thread" -> thread, "startMicros" -> start, "durationMicros" -> 5).toString

  test("times of a worker are those of the driver's clock, which drifts away from its own evenly") {
    val worker = WorkerTrace("host", 1000, Seq(ClockPair(2000, 52000), ClockPair(12000, 62100)), Seq.empty)
    assert(worker.driverMicros(1000) == 52000)
    assert(worker.driverMicros(6000) == 57050)
    assert(worker.driverMicros(11000) == 62100)
    assert(worker.copy(clocks = Seq(ClockPair(2000, 52000))).driverMicros(6000) == 57000)
  }

  test("workers are processes with a row for each thread, and what happened at once stands below each other") {
    val zero =
      WorkerTrace("a", 1000, Seq(ClockPair(0, 0)), Seq(span("forward", "compute", 10), span("bucket 0", "comm", 20)))
    val one = WorkerTrace("b", 9000, Seq(ClockPair(8000, 0)), Seq(span("forward", "compute", 10)))
    val events =
      Json.parse(new Timeline(500, Seq(1 -> one, 0 -> zero)).toJson, "trace").path("traceEvents").asScala.toSeq
    def named(kind: String) = events.filter(_.path("name").asText() == kind)
    assert(named("process_name").map(_.path("args").path("name").asText()) == Seq("rank 0 on a", "rank 1 on b"))
    assert(named("thread_name").map(event =>
      (event.path("pid").asInt(), event.path("tid").asInt(), event.path("args").path("name").asText())) ==
      Seq((0, 1, "comm"), (0, 2, "compute"), (1, 1, "compute")))
    assert(named("forward").map(event =>
      (event.path("pid").asInt(), event.path("tid").asInt(), event.path("ts").asLong())) ==
      Seq((0, 2, 510L), (1, 1, 510L)))
    assert(named("bucket 0").map(_.path("dur").asLong()) == Seq(5))
  }

  test("a long training keeps its first and its last spans") {
    val log = new SpanLog(2, 3)
    log.add(Seq("a"))
    log.add(Seq("b", "c", "d"))
    log.add(Seq("e", "f", "g"))
    assert(log.all == Seq("a", "b", "e", "f", "g"))
  }
}
