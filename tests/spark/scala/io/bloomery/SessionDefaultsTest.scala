package io.bloomery

import org.scalatest.funsuite.AnyFunSuite

/** Params that come from the session's settings. */
class SessionDefaultsTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map("spark.bloomery.epochs" -> "2")

  private def withSettings[T](settings: (String, String)*)(body: => T): T = {
    settings.foreach { case (name, value) => spark.conf.set(s"spark.bloomery.$name", value) }
    try body
    finally settings.foreach { case (name, _) => spark.conf.unset(s"spark.bloomery.$name") }
  }

  private lazy val data = Tiny.data(spark).selectExpr("*", "features as other")

  private def estimator: NeuralNetClassifier = new NeuralNetClassifier().setNetwork(Tiny.network).setVerbose(0)

  test("a setting holds where the param is not set") {
    assert(estimator.fit(data).summary.history.length == 2)
    assert(estimator.setEpochs(1).fit(data).summary.history.length == 1)
    val fitted = withSettings(
      "optimizer" -> """{"kind": "sgd", "learningRate": 0.25}""",
      "metrics" -> "accuracy, mse",
      "numWorkers" -> "2",
      "shuffle" -> "false",
      "featuresCol" -> "other",
      "probabilityCol" -> "") {
      val model = estimator.fit(data.drop("features"))
      assert(model.transform(data).columns.toSeq.takeRight(2) == Seq("prediction", "rawPrediction"))
      model
    }
    assert(fitted.summary.numWorkers == 2)
    assert(fitted.summary.history.last.learningRate == 0.25)
    assert(fitted.summary.history.last.metrics.keySet == Set("accuracy", "mse"))
    val parent = fitted.parent.asInstanceOf[NeuralNetClassifier]
    assert(!parent.isSet(parent.epochs))
  }

  test("a param that is set keeps the session from giving the one that excludes it") {
    withSettings("batchSize" -> "10", "validationFraction" -> "0.5") {
      val held = data.selectExpr("*", "id % 2 = 0 as held")
      assert(
        estimator.setGlobalBatchSize(100).setValidationIndicatorCol("held").fit(held).summary.history.head.steps == 3)
      assert(estimator.fit(data).summary.history.head.steps > 20)
    }
  }

  test("a setting that cannot be read is refused before any job") {
    Seq("batchSize" -> "many", "learningRate" -> "fast", "shuffle" -> "perhaps").foreach { case (name, value) =>
      val (error, counts) = failing[UserError](withSettings(name -> value)(estimator.fit(data)))
      assert(error.getMessage.startsWith(s"spark.bloomery.$name must be ") && error.getMessage.endsWith(value))
      assert(counts.jobs == 0)
    }
  }

  test("how workers meet may be the session's choice") {
    val (error, _) =
      failing[UserError](withSettings("network.interface" -> "no-such0")(estimator.setNumWorkers(2).fit(data)))
    assert(error.getMessage.startsWith("No such interface on this executor: 'no-such0'"))
    val (unread, counts) = failing[UserError](withSettings("network.encrypt" -> "perhaps")(estimator.fit(data)))
    assert(unread.getMessage == "Neither true nor false: 'perhaps', set as spark.bloomery.network.encrypt")
    assert(counts.jobs == 0)
  }

  test("what another estimator has, and what is no param, is left alone") {
    withSettings("lossWeights" -> "{}", "input.path" -> "rows") {
      assert(estimator.fit(data).summary.history.length == 2)
    }
  }

  test("what nothing has is refused before any job, with the nearest that there is") {
    Seq(
      "epoch" -> "; did you mean spark.bloomery.epochs?",
      "num_workers" -> "; did you mean spark.bloomery.numWorkers?",
      "network.interfaces" -> "; did you mean spark.bloomery.network.interface?",
      "colour" -> "; docs/params.md lists them").foreach { case (name, hint) =>
      val (error, counts) = failing[UserError](withSettings(name -> "7")(estimator.fit(data)))
      assert(error.getMessage == s"Unknown setting: spark.bloomery.$name$hint")
      assert(counts.jobs == 0)
    }
  }
}
