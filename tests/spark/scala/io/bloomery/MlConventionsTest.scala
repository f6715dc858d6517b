package io.bloomery

import io.bloomery.network._
import org.apache.spark.ml.feature.LabeledPoint
import org.apache.spark.ml.linalg.Vectors
import org.apache.spark.ml.param.ParamsSuite
import org.apache.spark.ml.util.{DefaultReadWriteTest, MLTestingUtils}
import org.apache.spark.sql.{DataFrame, Dataset}
import org.scalatest.funsuite.AnyFunSuite

/** What Spark's own tests ask of every estimator and model, asked of ours. */
class MlConventionsTest extends AnyFunSuite with EngineSuite with DefaultReadWriteTest {
  override def master: String = "local[2]"

  private lazy val data: DataFrame = Tiny.data(spark, rows = 60).selectExpr("*", "double(features[0]) as total")

  private def classifier: NeuralNetClassifier = Tiny.classifier.setEpochs(1)

  private def regressor: NeuralNetRegressor =
    new NeuralNetRegressor()
      .setNetwork(Sequential("line")(Input(4), Dense(1)))
      .setLabelCol("total")
      .setVerbose(0)

  private def estimator: NeuralNetEstimator =
    new NeuralNetEstimator()
      .setNetwork(Sequential("line")(Input(4, name = "features"), Dense(1, name = "guess")))
      .setLabelCols(Map("guess" -> "total"))
      .setLoss("mse")
      .setVerbose(0)

  test("params are well formed") {
    Seq(classifier, regressor, estimator).foreach(ParamsSuite.checkParams)
    Seq(classifier.fit(data), regressor.fit(data), estimator.fit(data)).foreach(ParamsSuite.checkParams)
  }

  test("copies keep uid, params and parent") {
    val (ours, model) = (classifier, classifier.fit(data))
    MLTestingUtils.checkCopyAndUids(ours, ours.fit(data))
    val values = regressor
    MLTestingUtils.checkCopyAndUids(values, values.fit(data))
    val several = estimator
    MLTestingUtils.checkCopyAndUids(several, several.fit(data))
    assert(model.hasParent)
  }

  private val training = Map[String, Any]("epochs" -> 1, "batchSize" -> 10, "seed" -> 5L, "verbose" -> 0)

  test("a classifier and its model are read as they were written") {
    val columns =
      Map[String, Any]("labelCol" -> "label", "predictionCol" -> "guess", "thresholds" -> Array(0.3, 0.3, 0.4))
    testEstimatorAndModelReadWrite[NeuralNetClassifier, NeuralNetClassificationModel](
      classifier,
      data,
      training ++ columns,
      columns,
      (one, other) => assert(one.weights.toSeq == other.weights.toSeq && one.network == other.network))
  }

  test("a regressor and its model are read as they were written") {
    val columns = Map[String, Any]("labelCol" -> "total", "loss" -> "mae", "nulls" -> "error")
    testEstimatorAndModelReadWrite[NeuralNetRegressor, NeuralNetRegressionModel](
      regressor,
      data,
      training ++ columns,
      columns,
      (one, other) => assert(one.weights.toSeq == other.weights.toSeq))
  }

  test("an estimator of named columns and its model are read as they were written") {
    val columns =
      Map[String, Any]("labelCols" -> """{"guess": "total"}""", "outputCols" -> """{"guess": "p"}""", "loss" -> "mse")
    testEstimatorAndModelReadWrite[NeuralNetEstimator, NeuralNetModel](
      estimator,
      data,
      training ++ columns,
      columns,
      (one, other) => assert(one.weights.toSeq == other.weights.toSeq))
  }

  test("weights of rows may be scaled by any factor") {
    import spark.implicits._
    val points: Dataset[LabeledPoint] = (0 until 50)
      .map(i => LabeledPoint((i % 2).toDouble, Vectors.dense(i % 2, i % 3, i % 5, i % 7)))
      .toDS()
    val network = Sequential("line")(Input(4), Dense(1))
    MLTestingUtils.testArbitrarilyScaledWeights[NeuralNetRegressionModel, NeuralNetRegressor](
      points,
      new NeuralNetRegressor().setNetwork(network).setVerbose(0).setSeed(3).setShuffle(false),
      (one, other) =>
        one.tensors("dense/kernel").values.zip(other.tensors("dense/kernel").values).foreach { case (a, b) =>
          assert(math.abs(a - b) < 1e-4)
        })
  }
}
