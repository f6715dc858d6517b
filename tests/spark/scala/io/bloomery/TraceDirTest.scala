package io.bloomery

import com.fasterxml.jackson.databind.JsonNode
import io.bloomery.engine.Json
import java.nio.file.{Files, Path}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.jdk.CollectionConverters._

/** What a fit leaves of its workers' doings: a timeline, and numbers. */
class TraceDirTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private def traced(folder: Path): (TrainingSummary, Seq[JsonNode]) = {
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(3).setTraceDir(folder.toUri.toString)
    val summary = failAfter(120.seconds)(classifier.fit(Tiny.data(spark))).summary
    val files = Files.list(folder).iterator().asScala.toSeq.filterNot(_.getFileName.toString.startsWith("."))
    assert(files.map(_.getFileName.toString).forall(_.matches("trace-[0-9-]+\\.json")) && files.size == 1)
    summary -> Json.parse(Files.readString(files.head), "trace").path("traceEvents").asScala.toSeq
  }

  test("traceDir gets a timeline of all workers' threads, layer by layer and bucket by bucket, by one clock") {
    val (summary, events) = traced(Files.createTempDirectory("traces"))
    val threads = events.filter(_.path("name").asText() == "thread_name").map { event =>
      (event.path("pid").asInt(), event.path("tid").asInt()) -> event.path("args").path("name").asText()
    }.toMap
    val spans = events.filter(_.path("ph").asText() == "X")
    def starts(rank: Int, thread: String, name: String): Seq[Long] = spans.collect {
      case span
          if span.path("name").asText() == name && span.path("pid").asInt() == rank &&
            threads((rank, span.path("tid").asInt())) == thread =>
        span.path("ts").asLong()
    }
    val expected = Seq(
      "ingest" -> Seq("read", "ingest"),
      "prefetch" -> Seq("assemble"),
      "compute" -> Seq(
        "forward",
        "dense forward",
        "dense_1 backward",
        "backward",
        "loss",
        "optimizer",
        "wait for bucket 1"),
      "comm" -> Seq("bucket 1"))
    for (rank <- 0 to 1; (thread, names) <- expected; name <- names) {
      assert(starts(rank, thread, name).nonEmpty, s"$name of rank $rank")
    }
    // No rank leaves a sum before the other has come to it: by one clock, sums of a step overlap.
    def sums(rank: Int): Seq[(Long, Long)] = spans
      .filter(span => span.path("name").asText() == "bucket 1" && span.path("pid").asInt() == rank)
      .map(span => span.path("ts").asLong() -> (span.path("ts").asLong() + span.path("dur").asLong()))
    assert(sums(0).size == sums(1).size && sums(0).size == summary.history.map(_.steps).sum)
    val slack = 20000L
    sums(0).zip(sums(1)).foreach { case ((start, end), (otherStart, otherEnd)) =>
      assert(start <= otherEnd + slack && otherStart <= end + slack)
    }
    assert(spans.forall(span =>
      span.path("ts").asLong() >= 0 && span.path("ts").asLong() / 1e6 < summary.totalSeconds + 1))
    assert(summary.trace.contains("rank 1 on "))
  }

  test("the summary tells by worker and epoch what was sent, and what of it was hidden and exposed") {
    val history = failAfter(120.seconds)(Tiny.classifier.setNumWorkers(2).setEpochs(2).fit(Tiny.data(spark))).summary
    val gradientBytes = 4L * (4 * 16 + 16 + 16 * 3 + 3)
    history.workerHistory.flatten.foreach { epoch =>
      assert(epoch.bytesSent >= gradientBytes * epoch.steps)
      assert(epoch.bytesSent < 3 * gradientBytes * epoch.steps + 20000)
      assert(epoch.exposedAllreduceSeconds > 0 && epoch.hiddenAllreduceSeconds >= 0)
      val whole = epoch.exposedAllreduceSeconds + epoch.hiddenAllreduceSeconds
      assert(math.abs(whole - epoch.allreduceSeconds) < 1e-9)
    }
  }

  test("a traceDir that cannot be written to is refused before any job") {
    val file = Files.createTempFile("not-a-folder", "")
    val (error, jobs) =
      failing[UserError](Tiny.classifier.setTraceDir(s"file:$file/traces").fit(Tiny.data(spark)))
    assert(error.getMessage.startsWith(s"traceDir cannot be written to: file:$file/traces, "))
    assert(jobs.jobs == 0)
  }
}
