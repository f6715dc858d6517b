package io.bloomery

import java.net.URI

import scala.io.Source
import scala.util.Using

import org.apache.spark.bloomery.LiveFits
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

/** The tab "Bloomery" of the live Spark UI. */
class FitsPageTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map("spark.ui.enabled" -> "true", "spark.ui.port" -> "0")

  private def page: String = {
    val url = URI.create(spark.sparkContext.uiWebUrl.get + "/bloomery/").toURL
    Using.resource(Source.fromInputStream(url.openStream(), "UTF-8"))(_.mkString)
  }

  test("a running fit is on the page from its first epochs on, and how it ended stays there") {
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(100000).setValidationFraction(0.2)
    @volatile var cancelled: Option[Throwable] = None
    val fit = new Thread(() => cancelled = Some(intercept[Cancelled](classifier.fit(Tiny.data(spark)))))
    fit.start()
    try eventually(timeout(60.seconds), interval(200.millis)) {
        val shown = page
        assert(shown.contains(classifier.uid) && shown.contains("""bloomery-state">training"""))
        assert("""<svg[^>]*aria-label="loss"""".r.findFirstIn(shown).isDefined)
        assert("""<svg[^>]*aria-label="accuracy"""".r.findFirstIn(shown).isDefined)
        assert(shown.contains("validation, epoch "))
        assert(shown.contains("""http-equiv="refresh""""))
        // A row for each worker.
        assert("""(?s)bloomery-workers.*<td[^>]*>0</td>.*<td[^>]*>1</td>""".r.findFirstIn(shown).isDefined)
        assert(LiveFits.json(classifier.uid).contains(""""state":"training""""))
      }
    finally {
      spark.sparkContext.cancelAllJobs()
      fit.join(20000)
    }
    assert(cancelled.isDefined)
    assert(page.contains("""bloomery-state">failed""") && !page.contains("""http-equiv="refresh""""))
    assertNothingIsAlive()
  }

  test("a fit that finished, and the numbers of its last epoch") {
    val model = Tiny.classifier.setNumWorkers(2).setEpochs(2).fit(Tiny.data(spark))
    val shown = page
    assert(shown.contains("""bloomery-state">finished"""))
    assert(shown.contains(f"training, epoch 2: ${model.summary.history.last.loss}%.4g"))
  }
}
