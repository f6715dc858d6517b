package org.apache.spark.bloomery

import scala.collection.mutable
import scala.concurrent.duration._

import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.engine.Progress

class WorkerBoardTest extends AnyFunSuite {
  private val second = 1000000000L

  /** A board of three workers with a clock of its own, and what it warned of. */
  private final class Fixture(numWorkers: Int = 3, stepTimeout: Double = 60) {
    var nanos = 0L
    val warnings = mutable.Buffer.empty[String]
    val board =
      new WorkerBoard(
        numWorkers,
        rank => s"partition $rank",
        text => { warnings += text; () },
        stepTimeout,
        () => nanos)
    (0 until numWorkers).foreach(rank => board.arrived(0, rank, s"host$rank", s"e$rank"))

    /** A report of each worker, of an epoch with so many steps, with its own milliseconds of each. */
    def report(epoch: Int, steps: Int, millis: Int*): Unit = millis.zipWithIndex.foreach { case (own, rank) =>
      tell(rank, epoch, steps, own)
    }

    def tell(rank: Int, epoch: Int, steps: Int, millis: Int, doing: String = "", doingSeconds: Double = 0): Unit =
      board.reported(
        0,
        rank,
        Progress(
          s"""{"state": "training", "epoch": $epoch, "step": $steps, "ownSteps": $steps, "ownSeconds":""" +
            s""" ${steps * millis / 1000.0}, "doing": "$doing", "doingSeconds": $doingSeconds}"""))
  }

  test("a worker whose steps are much slower than the others' is named, once in an epoch") {
    val fixture = new Fixture
    import fixture._
    report(1, 100, 100, 30, 20)
    assert(warnings == Seq(
      "Slow worker: rank 0 (host host0, executor e0, partition 0), last sign of life 0.0 s ago: epoch 1, step 100," +
        " computing. Its own part of a step takes 100.0 ms, the median of the others is 25.0 ms"))
    report(1, 120, 100, 30, 20)
    assert(warnings.size == 1)
    report(2, 100, 100, 30, 20)
    assert(warnings.size == 2)
  }

  test("two workers are told apart, too") {
    val fixture = new Fixture(numWorkers = 2)
    fixture.report(1, 100, 20, 100)
    assert(fixture.warnings.size == 1)
    assert(fixture.warnings.head.startsWith("Slow worker: rank 1 "))
  }

  test("small differences, few steps, and little time lost are no reason to warn") {
    val fixture = new Fixture
    import fixture._
    report(1, 1000, 40, 30, 25)
    report(2, 9, 4000, 30, 25)
    report(3, 40, 100, 30, 25)
    // In different epochs.
    tell(0, 4, 100, 100)
    assert(warnings.isEmpty, warnings)
  }

  test("a worker that others have waited for is named before it counts as lost") {
    val fixture = new Fixture(stepTimeout = 60)
    import fixture._
    report(1, 3, 10, 10, 10)
    nanos = 14 * second
    tell(0, 1, 3, 10, "allreduce of bucket 1 of 2 (8 bytes)", 14)
    tell(1, 1, 3, 10, "allreduce of bucket 1 of 2 (8 bytes)", 13)
    assert(warnings.isEmpty)
    nanos = 16 * second
    tell(0, 1, 3, 10, "allreduce of bucket 1 of 2 (8 bytes)", 16)
    tell(1, 1, 3, 10, "allreduce of bucket 1 of 2 (8 bytes)", 15)
    assert(warnings == Seq(
      "Slow worker: rank 2 (host host2, executor e2, partition 2), last sign of life 16.0 s ago: epoch 1, step 3," +
        " computing. Others have waited 16.0 s for it"))
  }

  test("the engine's and the connector's own sentences are completed") {
    val board = new Fixture().board
    Seq(
      "Not connected within 300 ms: waited for rank 2 on rank 0 of 3" -> Seq(2),
      "Cannot connect to rank 1 on rank 0 of 3: refused" -> Seq(1),
      "Workers did not start within connectTimeout: ranks 1, 2 after 60 s" -> Seq(1, 2),
      "Others gave up this rank" -> Seq.empty).foreach { case (message, ranks) =>
      val added = ranks.map(board.describe).mkString("; ")
      assert(board.complete(message) == (if (ranks.isEmpty) message else s"$message. Lost was $added"))
    }
  }

  test("a lost executor is told with the workers that ran there") {
    val fixture = new Fixture
    assert(fixture.board.lastExecutorLoss.isEmpty)
    fixture.nanos = 3 * second
    val text = fixture.board.lostExecutor("e1", "killed")
    assert(text == "Executor e1 was lost: killed. It ran rank 1 (host host1, executor e1, partition 1), last sign of" +
      " life 3.0 s ago: starting")
    assert(fixture.board.lastExecutorLoss.contains(text))
    assert(fixture.board.lostExecutor("other", "gone") == "Executor other was lost: gone")
    assert(fixture.board.lastExecutorLoss.contains(text))
    val early = new Fixture(numWorkers = 0).board
    early.lostExecutor("e1", "killed")
    assert(early.lastExecutorLoss.contains("Executor e1 was lost: killed"))
  }

  test("the word of a lost executor is waited for, but not for ever") {
    val board = new Fixture().board
    assert(board.awaitExecutorLoss(50.millis).isEmpty)
    val told = new Thread(() => { Thread.sleep(50); board.lostExecutor("e9", "killed"); () })
    told.start()
    assert(board.awaitExecutorLoss(10.seconds).contains("Executor e9 was lost: killed"))
    told.join()
  }

  test("reports of an earlier attempt change nothing") {
    val fixture = new Fixture
    fixture.report(1, 3, 10, 10, 10)
    fixture.board.arrived(1, 0, "elsewhere", "e9")
    fixture.tell(0, 1, 3, 10)
    assert(fixture.board.describe(0) ==
      "rank 0 (host elsewhere, executor e9, partition 0), last sign of life 0.0 s ago: starting")
  }
}
