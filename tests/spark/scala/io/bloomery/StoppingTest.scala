package io.bloomery

import io.bloomery.network._
import java.util.concurrent.ConcurrentLinkedQueue
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.jdk.CollectionConverters._

/** Trainings that end before their last epoch, and whose weights they give then. */
class StoppingTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data: DataFrame = Tiny.data(spark).selectExpr("*", "id % 4 = 0 as held")

  private def classifier: NeuralNetClassifier =
    Tiny.classifier.setNumWorkers(2).setValidationIndicatorCol("held").setEpochs(9)

  private def fit(classifier: NeuralNetClassifier): NeuralNetClassificationModel =
    failAfter(60.seconds)(classifier.fit(data))

  test("training stops when its monitor gets no better, with the weights of the best epoch") {
    val stopped = fit(
      classifier
        .setEarlyStoppingPatience(2)
        .setEarlyStoppingMinDelta(1000)
        .setMonitor("validation_accuracy")
        .setRestoreBestWeights(true))
    assert(stopped.summary.history.map(_.epoch) == Seq(1, 2, 3))
    assert(stopped.weights.toSeq == fit(classifier.setEpochs(1)).weights.toSeq)
    val text = stopped.summary.events.map(_.text).last
    assert(text.startsWith("Training stopped after epoch 3: validation_accuracy did not get better for 2 epochs"))
    assertNothingIsAlive()
  }

  test("a monitor that is not measured is refused before any job") {
    val (error, counts) =
      failing[UserError](classifier.setEarlyStoppingPatience(1).setMonitor("validation_acc").fit(data))
    assert(
      error.getMessage == "Unknown monitor: validation_acc, nearest known: validation_accuracy" || counts.jobs == 0)
    assert(counts.jobs == 0)
  }

  test("callbacks are told of every epoch, in order, and one of them stops all workers") {
    val told = new ConcurrentLinkedQueue[EpochRecord]
    val model = fit(classifier.setCallbacks(
      { (record: EpochRecord) => told.add(record); false },
      _.epoch == 3))
    assert(told.asScala.map(_.epoch).toSeq == Seq(1, 2, 3))
    assert(told.asScala.toSeq == model.summary.history)
    assert(model.summary.events.map(_.text).last == "Training stopped after epoch 3: a callback asked for it")
    assert(model.weights.toSeq == fit(classifier.setEpochs(3)).weights.toSeq)
    assertNothingIsAlive()
  }

  test("an exception of a callback is what fit throws, and its checkpoint can be gone on from") {
    val folder = temporary("callback").resolve("checkpoints").toString
    def checked = classifier.setEpochs(4).setCheckpointPath(folder)
    val wrong = new IllegalStateException("enough")
    val caught = intercept[IllegalStateException](fit(checked.setCallbacks(record =>
      if (record.epoch == 2) throw wrong else false)))
    assert(caught eq wrong)
    assertNothingIsAlive()
    val model = fit(checked)
    assert(model.summary.history.map(_.epoch) == Seq(1, 2, 3, 4))
    assert(model.weights.toSeq == fit(classifier.setEpochs(4)).weights.toSeq)
  }

  test("copies keep callbacks, as tuners copy estimators") {
    val told = new ConcurrentLinkedQueue[Int]
    val copied = classifier.setEpochs(2).setCallbacks { record => told.add(record.epoch); true }
    assert(fit(copied.copy(org.apache.spark.ml.param.ParamMap.empty)).summary.history.length == 1)
    assert(told.asScala.toSeq == Seq(1))
  }

  test("an early stop is kept in checkpoints: a fit that goes on from there trains no further") {
    val folder = temporary("early").resolve("checkpoints").toString
    def stopping = classifier
      .setCheckpointPath(folder).setEarlyStoppingPatience(1).setEarlyStoppingMinDelta(1000).setRestoreBestWeights(true)
    val first = fit(stopping)
    val again = fit(stopping)
    assert(first.summary.history.length == 2 && again.summary.history.length == 2)
    assert(again.weights.toSeq == first.weights.toSeq)
  }

  test("training begins with the weights of another model, and new layers begin anew") {
    val base = fit(classifier)
    val rested = fit(classifier.setInitialModel(base).setEpochs(1).setOptimizer("sgd").setLearningRate(1e-30))
    assert(rested.weights.toSeq == base.weights.toSeq)
    val folder = temporary("initial").resolve("model").toString
    base.save(folder)
    val tuned = fit(
      classifier
        .setNetwork(
          Sequential("tuned")(
            Input(4),
            Dense(16, activation = "relu", trainable = false),
            Dense(3, activation = "softmax", name = "head")))
        .setInitialModel(folder)
        .setEpochs(3))
    assert(tuned.tensors("dense/kernel").values.toSeq == base.tensors("dense/kernel").values.toSeq)
    assert(!tuned.tensors.contains("dense_1/kernel"))
    assert(tuned.summary.history.last.metrics("accuracy") > 0.6)
    val unsaved =
      intercept[UserError](classifier.setInitialModel(base).save(temporary("unsaved").resolve("e").toString))
    assert(unsaved.getMessage.contains("set initialModel to its path"))
  }
}
