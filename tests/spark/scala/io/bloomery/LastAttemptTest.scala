package io.bloomery

import org.scalatest.funsuite.AnyFunSuite

/** Where Spark tries no stage again. */
class LastAttemptTest extends AnyFunSuite with ExecutorDeath {
  override def settings: Map[String, String] = Map("spark.stage.maxConsecutiveAttempts" -> "1")

  private def classifier: NeuralNetClassifier = Tiny.classifier.setNumWorkers(2).setBatchSize(1).setEpochs(20)

  test("a worker that is lost for good is told with what to do") {
    val data = Tiny.data(spark)
    val path = temporary("checkpoints")
    Seq(
      classifier -> ("Set checkpointPath, and a fit after such a loss goes on from the newest checkpoint; with maxRestarts" +
        " a fit is submitted again by itself"),
      classifier.setCheckpointPath(
        path.toString) -> ("Fit again with the same checkpointPath to go on from the newest" +
        " checkpoint; with maxRestarts a fit does so by itself")).foreach { case (classifier, advice) =>
      val lost = intercept[PeerLost](disturbed(classifier.fit(data)))
      assert(lost.getMessage.endsWith(s". $advice"))
    }
    assertNothingIsAlive()
  }

  test("a job that is submitted again says so without the reason that was told before") {
    val events = disturbed(classifier.setMaxRestarts(1).fit(Tiny.data(spark))).summary.events.map(_.text)
    assert(events.count(_.contains(" was lost")) == 1, events)
    assert(events.takeRight(2) == Seq(
      "Training is submitted again, restart 1 of 1",
      "The next job starts over from the beginning; set checkpointPath, and it goes on from the newest checkpoint" +
        " instead"))
    assertNothingIsAlive()
  }
}
