package org.apache.spark.bloomery

import java.io.{StringWriter, Writer}

import io.bloomery.engine.Json

/** One moment by the clocks of a worker and of the driver, each counting from a beginning of its own. */
private[bloomery] final case class ClockPair(workerMicros: Long, driverMicros: Long) {
  def offset: Long = driverMicros - workerMicros
}

/**
 * What a worker's threads did: each span as JSON, with times since `originMicros` of the worker's
 * clock, and that clock against the driver's, early and late.
 */
private[bloomery] final case class WorkerTrace(
    host: String,
    originMicros: Long,
    clocks: Seq[ClockPair],
    spans: Seq[String]) {

  /** By the driver's clock; between two pairs, whose clocks may have drifted apart, in a straight line. */
  def driverMicros(sinceOrigin: Long): Long = {
    val time = originMicros + sinceOrigin
    clocks match {
      case Seq() => time
      case Seq(one) => time + one.offset
      case pairs =>
        val (first, last) = (pairs.head, pairs.last)
        val passed = last.workerMicros - first.workerMicros
        val drift = if (passed > 0) (last.offset - first.offset).toDouble / passed else 0.0
        time + first.offset + (drift * (time - first.workerMicros)).round
    }
  }
}

/**
 * The spans of all workers by the driver's clock, from `startMicros` on, as a Chrome trace: a worker
 * is a process, with a row for each of its threads.
 */
final class Timeline private[bloomery] (startMicros: Long, workers: Seq[(Int, WorkerTrace)]) {

  def toJson: String = {
    val text = new StringWriter
    write(text)
    text.toString
  }

  private[bloomery] def write(out: Writer): Unit = {
    out.write("""{"traceEvents":[""")
    var separator = "\n"
    for ((rank, worker) <- workers.sortBy(_._1); event <- events(rank, worker)) {
      out.write(separator)
      out.write(event)
      separator = ",\n"
    }
    out.write("\n]}\n")
  }

  private def events(rank: Int, worker: WorkerTrace): Iterator[String] = {
    val spans = worker.spans.iterator.map(Json.parse(_, "span"))
    val threads = worker.spans.map(span => Json.parse(span, "span").path("thread").asText()).distinct.sorted
    val names = Iterator(
      name("process_name", rank, 0, Json.obj("name" -> s"rank $rank on ${worker.host}")),
      name("process_sort_index", rank, 0, Json.obj("sort_index" -> rank))) ++
      threads.zipWithIndex.map { case (thread, id) => name("thread_name", rank, id + 1, Json.obj("name" -> thread)) }
    names ++ spans.map { span =>
      Json
        .obj(
          "name" -> span.path("name").asText(),
          "ph" -> "X",
          "ts" -> (worker.driverMicros(span.path("startMicros").asLong()) - startMicros),
          "dur" -> span.path("durationMicros").asLong(),
          "pid" -> rank,
          "tid" -> (threads.indexOf(span.path("thread").asText()) + 1))
        .toString
    }
  }

  private def name(kind: String, rank: Int, thread: Int, arguments: Any): String =
    Json.obj("name" -> kind, "ph" -> "M", "pid" -> rank, "tid" -> thread, "args" -> arguments).toString
}

object Timeline {
  val empty: Timeline = new Timeline(0, Seq.empty)
}
