package io.bloomery

import java.io.File

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

  test("so does one whose source gives other values each time it is asked") {
    val number = "float(reflect('java.lang.Math', 'random'))"
    val data = Tiny.data(spark).selectExpr(s"array($number, $number, $number, $number) as features", "label")
    val path = temporary("checkpoints")
    val classifier = Tiny.classifier.setNumWorkers(2).setBatchSize(1).setEpochs(100).setCheckpointPath(path.toString)
    // The newest may still be being written.
    def isSaved = path.toFile.listFiles().count(folder => new File(folder, "manifest.json").exists()) > 1
    val events = disturbed(classifier.fit(data), isSaved).summary.events.map(_.text)
    assert(events.exists(_.startsWith("Attempt 2 goes on from ")), events)
    assert(events.last.startsWith("Rows have other values than when the checkpoint was made: "), events)
    val error = intercept[UserError](classifier.setEpochs(101).fit(data))
    assert(error.getMessage.contains(" as before, but with other values. "))
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
