package org.apache.spark.bloomery

import java.io.{ByteArrayOutputStream, PrintStream}

import io.bloomery.engine.Progress
import org.scalatest.funsuite.AnyFunSuite

class ProgressLineTest extends AnyFunSuite {
  private def progress(epoch: Int, step: Int, history: String = ""): Progress =
    Progress(s"""{"state":"training","epoch":$epoch,"epochs":2,"step":$step,"steps":313,"loss":0.31214,
       |"metrics":{"accuracy":0.9012},"samplesPerSecond":2105.4,"history":[$history]}""".stripMargin)

  private val firstEpoch =
    """{"epoch":1,"loss":0.2,"metrics":{"accuracy":0.94},"validation":{"loss":0.1,"metrics":{"accuracy":0.97}},
      |"samples":60000,"steps":313,"seconds":25.0}""".stripMargin

  private def shown(live: Boolean)(steps: (ProgressLine, Long => Unit) => Unit): String = {
    val bytes = new ByteArrayOutputStream()
    var seconds = 0L
    val line = new ProgressLine(new PrintStream(bytes), live, now = () => seconds * 1000000000L)
    steps(line, now => seconds = now)
    bytes.toString
  }

  test("the line tells epoch, step, loss, metrics, speed and time left") {
    val text = shown(live = true) { (line, at) =>
      at(10)
      line.report(0, progress(1, 20))
      at(20)
      line.report(0, progress(1, 120))
    }
    assert(text.endsWith(
      "\repoch 1/2  step 120/313  loss 0.3121  accuracy 0.9012  2105 samples/s  51 s left"))
    assert(!text.contains("\n"))
  }

  test("nothing is told of a training before its first step") {
    assert(shown(live = false)((line, _) => line.report(0, progress(0, 0))) == "")
  }

  test("the last line of an epoch stays") {
    val text = shown(live = true) { (line, _) =>
      line.report(0, progress(1, 300))
      line.report(0, progress(2, 1, firstEpoch))
    }
    assert(text.contains("epoch 1/2  loss 0.2000  accuracy 0.9400  validation loss 0.1000" +
      "  validation accuracy 0.9700  2400 samples/s  25.0 s\n"))
  }

  test("an epoch that was told comes again only when it was trained again") {
    val text = shown(live = false) { (line, _) =>
      line.report(0, progress(2, 1, firstEpoch))
      line.report(0, progress(2, 2, firstEpoch))
      line.report(0, progress(2, 1, firstEpoch.replace("25.0", "26.0")))
    }
    assert(text.linesIterator.filter(_.startsWith("epoch 1/2  loss")).map(_.split("  ").last).toSeq ==
      Seq("25.0 s", "26.0 s"))
  }

  test("on a terminal the last line of an epoch begins where the line does, and none is left when the fit ends") {
    val text = shown(live = true) { (line, _) =>
      line.report(0, progress(1, 300))
      line.report(0, progress(1, 313, firstEpoch))
      line.end(None)
    }
    val lines = text.split("\n").toSeq
    assert(lines.head.split("\r").last.startsWith("epoch 1/2  loss 0.2000"))
    assert(lines.length == 2 && lines.last.endsWith(" \r"))
  }

  test("without a terminal a line comes every few seconds, and nothing is overwritten") {
    val text = shown(live = false) { (line, at) =>
      (0 to 20).foreach { second =>
        at(second.toLong)
        line.report(0, progress(1, second))
      }
    }
    assert(!text.contains("\r"))
    assert(text.linesIterator.size == 4)
  }
}
