package io.bloomery

import org.apache.spark.ml.param.ParamMap
import org.scalatest.funsuite.AnyFunSuite

class ExecutorLossTest extends AnyFunSuite with ExecutorDeath {
  test("a fit survives the death of an executor") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2)
    val expected = classifier.setBatchSize(1).setEpochs(20).fit(data).weights.toSeq
    val model = disturbed(classifier.fit(data))
    assert(model.weights.toSeq == expected)
    assert(
      model.summary.events.last.text == "Attempt 2 starts over from the beginning; set checkpointPath, and it goes" +
        " on from the newest checkpoint instead")
    assertNothingIsAlive()
  }

  test("so do fits of several param maps") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2).setBatchSize(1).setEpochs(10)
    val maps = Seq(0.01, 0.02).map(rate => ParamMap(classifier.learningRate -> rate))
    val expected = maps.map(classifier.fit(data, _).weights.toSeq)
    assert(disturbed(classifier.fit(data, maps)).map(_.weights.toSeq) == expected)
    assertNothingIsAlive()
  }
}
