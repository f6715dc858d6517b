package org.apache.spark.bloomery

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import io.bloomery.UserError
import io.bloomery.engine.Progress
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite

class FitViewTest extends AnyFunSuite with Eventually {

  private final class Notes extends FitView {
    private val heard = new ConcurrentLinkedQueue[String]
    def all: Seq[String] = heard.asScala.toSeq

    override def report(rank: Int, progress: Progress): Unit = { heard.add(s"$rank at ${progress.step}"); () }
    override def say(text: String): Unit = { heard.add(text); () }
    override def end(failure: Option[Throwable]): Unit = {
      heard.add(failure.fold("finished")(error => s"failed: ${error.getMessage}"))
      ()
    }
  }

  private object Broken extends FitView {
    override def report(rank: Int, progress: Progress): Unit = throw new IllegalStateException("no paper")
  }

  private def threads: Seq[String] =
    Thread.getAllStackTraces.keySet.asScala.map(_.getName).filter(_.startsWith(FitViews.ThreadName)).toSeq

  test("views hear everything in order, and how the fit ended") {
    val notes = new Notes
    val views = new FitViews(Seq(notes))
    assert(views.during { views.report(1, """{"step":7}"""); views.say("slow disk"); 5 } == 5)
    assert(notes.all == Seq("1 at 7", "slow disk", "finished"))
    eventually(assert(threads.isEmpty))
  }

  test("a fit that fails is told to the views, and throws what it threw") {
    val notes = new Notes
    val views = new FitViews(Seq(notes))
    assert(intercept[UserError](views.during(throw new UserError("bad label"))).getMessage == "bad label")
    assert(notes.all == Seq("failed: bad label"))
  }

  test("a view that fails is left out and ends nothing") {
    val notes = new Notes
    val views = new FitViews(Seq(Broken, notes))
    views.during { (1 to 3).foreach(step => views.report(0, s"""{"step":$step}""")) }
    assert(notes.all == Seq("0 at 1", "0 at 2", "0 at 3", "finished"))
  }

  test("a picture of many epochs has a few hundred points and the last one") {
    assert(FitsPage.thinned(1 to 200) == (1 to 200))
    val thinned = FitsPage.thinned(1 to 100000)
    assert(thinned.length == 200 && thinned.last == 100000 && thinned == thinned.sorted)
  }

  test("a view that waits for its disk keeps nobody waiting") {
    val disk = new CountDownLatch(1)
    val views = new FitViews(Seq(new FitView {
      override def report(rank: Int, progress: Progress): Unit = disk.await()
    }))
    views.during {
      val started = System.nanoTime()
      (1 to 20000).foreach(_ => views.report(0, "{}"))
      assert((System.nanoTime() - started) / 1e9 < 2)
      disk.countDown()
    }
    eventually(assert(threads.isEmpty))
  }
}
