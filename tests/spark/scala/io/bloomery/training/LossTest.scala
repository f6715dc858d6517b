package io.bloomery.training

import io.bloomery.NeuralNetClassifier
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class LossTest extends AnyFunSuite {

  private val losses = Table[Loss, String](
    ("loss", "json"),
    (CategoricalCrossentropy(), """{"kind":"categorical_crossentropy"}"""),
    (
      CategoricalCrossentropy(labelSmoothing = 0.1),
      """{"kind":"categorical_crossentropy","labelSmoothing":0.1}"""),
    (
      SparseCategoricalCrossentropy(fromLogits = true),
      """{"kind":"sparse_categorical_crossentropy","fromLogits":true}"""),
    (BinaryCrossentropy(), """{"kind":"binary_crossentropy"}"""),
    (MeanSquaredError, """{"kind":"mean_squared_error"}"""),
    (MeanAbsoluteError, """{"kind":"mean_absolute_error"}"""),
    (Huber(2.0), """{"kind":"huber","delta":2.0}"""))

  test("a loss writes what it was given") {
    forAll(losses)((loss, json) => assert(loss.toJson == json))
  }

  test("metrics are names or objects, class weights are by class") {
    val classifier = new NeuralNetClassifier()
      .setMetrics("accuracy", TopKCategoricalAccuracy(3, name = "top3"), Recall(threshold = 0.3))
      .setClassWeights(Map(3 -> 2.5, 0 -> 1.0))
      .setLoss(Huber())
    assert(
      classifier.getMetrics.toSeq == Seq(
        "accuracy",
        """{"kind":"top_k_categorical_accuracy","k":3,"name":"top3"}""",
        """{"kind":"recall","threshold":0.3}"""))
    assert(classifier.getClassWeights == """{"0":1.0,"3":2.5}""")
    assert(classifier.getLoss == """{"kind":"huber"}""")
    assert(classifier.setMetrics(Array("mse")).getMetrics.toSeq == Seq("mse"))
  }
}
