package io.bloomery

import io.bloomery.network._
import io.bloomery.training.{CategoricalCrossentropy, MeanSquaredError, Metric}
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

/** Networks of several inputs and outputs, which are known by their names. */
class SeveralOutputsTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data: DataFrame = Tiny.data(spark).selectExpr(
    "features as numbers",
    "features[0] as x",
    "features[1] as y",
    "label",
    "array('a', 'b', 'c')[label] as word",
    "features[0] + features[1] as total",
    "id % 4 = 0 as held")

  private lazy val network: Network = {
    val (numbers, place) = (Input(4, name = "numbers"), Input(2, name = "place"))
    val body = Dense(16, activation = "relu")(numbers)
    val species = Dense(3, activation = "softmax", name = "species")(body)
    val total = Dense(1, name = "total")(place)
    Model(Seq(numbers, place), Seq(species, total), name = "two")
  }

  private def estimator: NeuralNetEstimator =
    new NeuralNetEstimator()
      .setNetwork(network)
      .setInputCols("""{"place": ["x", "y"]}""")
      .setLabelCols(Map("species" -> "label", "total" -> "total"))
      .setLoss(Map("species" -> CategoricalCrossentropy(), "total" -> MeanSquaredError))
      .setLossWeights(Map("total" -> 2.0))
      .setMetrics("""{"species": ["accuracy"], "total": ["mae"]}""")
      .setOptimizer("adam")
      .setLearningRate(0.02)
      .setBatchSize(20)
      .setEpochs(8)
      .setSeed(7)
      .setVerbose(0)

  test("each output has its loss, weight, metrics and column") {
    val model = estimator.setNumWorkers(2).setValidationIndicatorCol("held").fit(data)
    val last = model.summary.history.last
    assert(last.metrics.keySet == Set("species_loss", "total_loss", "species_accuracy", "total_mae"))
    assert(math.abs(last.loss - last.metrics("species_loss") - 2 * last.metrics("total_loss")) < 1e-9)
    assert(last.metrics("species_accuracy") > 0.8 && last.metrics("total_mae") < 0.1)
    val predicted = model.transform(data)
    assert(predicted.columns.toSeq == data.columns.toSeq ++ Seq("prediction_species", "prediction_total"))
    predicted.select("prediction_species", "prediction_total", "total").collect().foreach { row =>
      assert(math.abs(row.getAs[Vector](0).toArray.sum - 1) < 1e-5)
      assert(math.abs(row.getDouble(1) - row.getFloat(2)) < 0.5)
    }
    val measured = model.evaluate(data.where("held"))
    assert(math.abs(measured("loss") - last.validationLoss.get) < 1e-6)
    assert(math.abs(measured("species_accuracy") - last.validationMetrics("species_accuracy")) < 1e-9)
    assertNothingIsAlive()
  }

  test("words of labels and names of columns may be chosen, and one output alone costs only itself") {
    val model = estimator
      .setLabelCols("""{"species": {"column": "word", "vocabulary": ["a", "b", "c"]}, "total": "total"}""")
      .setOutputCols(Map("species" -> "guess"))
      .fit(data)
    assert(model.weights.toSeq == estimator.fit(data).weights.toSeq)
    val all = model.transform(data)
    val alone = all.select("guess").collect().map(_.getAs[Vector](0)).toSeq
    assert(alone == all.collect().map(_.getAs[Vector]("guess")).toSeq)
    val totals = all.select("prediction_total").collect().map(_.getDouble(0)).toSeq
    assert(totals == all.collect().map(_.getAs[Double]("prediction_total")).toSeq)
  }

  test("model and estimator come back as they were saved") {
    val folder = temporary("several")
    estimator.save(folder.resolve("estimator").toString)
    assert(NeuralNetEstimator.load(folder.resolve("estimator").toString).getLabelCols == estimator.getLabelCols)
    val model = estimator.setEpochs(1).fit(data)
    model.save(folder.resolve("model").toString)
    val loaded = NeuralNetModel.load(folder.resolve("model").toString)
    assert(loaded.transform(data).collect().toSeq == model.transform(data).collect().toSeq)
  }

  test("names that the network does not have are refused with the nearest, before any job") {
    def refused(estimator: NeuralNetEstimator): String = {
      val (error, counts) = failing[UserError](estimator.fit(data))
      assert(counts.jobs == 0)
      error.getMessage
    }
    assert(refused(estimator.setInputCols(Map("plaice" -> "x"))) ==
      "Unknown input in inputCols: plaice; did you mean place? inputs: numbers, place")
    assert(refused(estimator.setOutputCols(Map("speces" -> "x"))).startsWith(
      "Unknown output in outputCols: speces; did you mean species?"))
    assert(refused(
      estimator.setLabelCols(Map("species" -> "label"))) == "No column of targets for output total, in labelCols")
    assert(refused(estimator.setLabelCols(Map("species" -> "lable", "total" -> "total"))).startsWith(
      "labelCols names a column that is not there: lable; did you mean label?"))
    assert(refused(estimator.setLabelCols(Map("species" -> "word", "total" -> "total"))).contains(
      """or texts of classes as {"column": "word", "vocabulary": [...]} in NeuralNetEstimator: column word, type STRING"""))
    assert(refused(new NeuralNetEstimator().setNetwork(network)).startsWith("No columns of targets: set labelCols"))
    assert(refused(estimator.setInputCols(Map("numbers" -> "numbers", "place" -> "plaice"))).startsWith(
      "inputCols names a column that is not there: plaice"))
    assert(refused(estimator.setMetrics(Map("species" -> Seq[Metric]("accuracy"), "cost" -> Nil))).contains("cost"))
  }

  test("a classifier and a regressor send networks of several inputs or outputs to the estimator that takes them") {
    val (error, counts) = failing[UserError](new NeuralNetClassifier().setNetwork(network).fit(data))
    assert(
      error.getMessage == "Network has 2 inputs, and NeuralNetClassifier takes one: use NeuralNetEstimator, whose" +
        " columns go by their names: numbers, place")
    assert(counts.jobs == 0)
    val body = Input(4, name = "numbers")
    val forked = Model(Seq(body), Seq(Dense(1, name = "low")(body), Dense(1, name = "high")(body)))
    val regressor = new NeuralNetRegressor().setNetwork(forked).setFeaturesCol("numbers").setLabelCol("total")
    assert(intercept[UserError](regressor.fit(data)).getMessage.startsWith("Network has 2 outputs, and NeuralNetRegre"))
  }

  test("describe tells of every input and output") {
    val text = estimator.describe(data)
    assert(text.contains("input 'place' is (2) of float32"))
    assert(text.contains("x (float): input 'place', kept as float32"))
    assert(text.contains("label (int): label of output 'species', one of 3 classes"))
    assert(text.contains("total (float): label of output 'total', a value"))
  }
}
