package io.bloomery

import io.bloomery.network.{Dense, Input, Sequential}
import org.apache.spark.ml.{Pipeline, PipelineModel}
import org.apache.spark.ml.attribute.AttributeGroup
import org.apache.spark.ml.evaluation.RegressionEvaluator
import org.apache.spark.ml.feature.VectorAssembler
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.ml.tuning.{ParamGridBuilder, TrainValidationSplit}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types.DoubleType
import org.scalatest.funsuite.AnyFunSuite

/** Networks that tell values: one, or several of a row. */
class RegressorTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  /** The sum and the difference of two numbers, which a line can tell. */
  private lazy val data: DataFrame =
    Tiny.data(spark).selectExpr(
      "id",
      "features",
      "double(features[0] + 2 * features[1]) as total",
      "float(features[0] - features[2]) as gap",
      "array(features[0] + 2 * features[1], features[0] - features[2]) as both",
      "id % 4 = 0 as held")

  private def regressor(units: Int): NeuralNetRegressor =
    new NeuralNetRegressor()
      .setNetwork(Sequential("line")(Input(4), Dense(units)))
      .setOptimizer("adam")
      .setLearningRate(0.05)
      .setBatchSize(20)
      .setEpochs(8)
      .setSeed(7)
      .setVerbose(0)

  private def error(predicted: DataFrame, label: String): Double =
    new RegressionEvaluator().setLabelCol(label).setMetricName("rmse").evaluate(predicted)

  test("one target: the prediction is a double, and mean squared error the loss by default") {
    val model = regressor(1).setLabelCol("total").setMetrics(Array("mae", "r2")).setNumWorkers(2).fit(data)
    val predicted = model.transform(data)
    assert(predicted.schema("prediction").dataType == DoubleType)
    assert(predicted.columns.toSeq == data.columns.toSeq :+ "prediction")
    assert(error(predicted, "total") < 0.05)
    assert(model.numTargets == 1)
    assert(model.summary.history.last.metrics.keySet == Set("mae", "r2"))
    assert(model.getLoss == "mean_squared_error")
    assertNothingIsAlive()
  }

  test("one number for several values is refused before any job") {
    val (error, counts) = failing[UserError](regressor(2).setLabelCol("total").fit(data))
    assert(error.getMessage.startsWith("labelCol has one number, and the network gives 2 values; name as many columns"))
    assert(counts.jobs == 0)
  }

  test("several targets from several columns, from an array and from a vector give the same weights") {
    val fromColumns = regressor(2).setLabelCols(Array("total", "gap")).fit(data)
    val fromArray = regressor(2).setLabelCol("both").fit(data)
    val vectors = new VectorAssembler().setInputCols(Array("total", "gap")).setOutputCol("vector").transform(data)
    val fromVector = regressor(2).setLabelCol("vector").fit(vectors)
    assert(fromArray.weights.toSeq == fromColumns.weights.toSeq)
    assert(fromVector.weights.toSeq == fromColumns.weights.toSeq)
    val predicted = fromColumns.transform(data)
    assert(AttributeGroup.fromStructField(predicted.schema("prediction")).size == 2)
    predicted.select("prediction", "total", "gap").collect().foreach { row =>
      val values = row.getAs[Vector](0)
      assert(values.size == 2)
      assert(math.abs(values(0) - row.getDouble(1)) < 0.2 && math.abs(values(1) - row.getFloat(2)) < 0.2)
    }
    assertNothingIsAlive()
  }

  test("several columns of targets are read from Parquet files by the engine itself") {
    val path = temporary("targets").resolve("data").toString
    data.write.parquet(path)
    val model = regressor(2).setLabelCols(Array("total", "gap")).fitOnParquet(path)
    assert(model.summary.input.startsWith("parquet"))
    assert(model.summary.history.last.loss < 0.05)
  }

  test("targets that do not fill the output, and labels of both ways, are refused before any job") {
    val (few, jobs) =
      failing[UserError](regressor(2).setLabelCol("total").setLabelCols(Array("total", "gap")).fit(data))
    assert(few.getMessage == "Both labelCol and labelCols are set: keep one" && jobs.jobs == 0)
    val (wrong, _) = failing[UserError](regressor(3).setLabelCols(Array("total", "gap")).fit(data))
    assert(wrong.getMessage.startsWith("Label columns do not fill the output: 2 columns"))
  }

  test("evaluate measures as validation does, on all executors, and without a row on the driver") {
    val model = regressor(1).setLabelCol("total").setMetrics(Array("mae")).setValidationIndicatorCol("held").fit(data)
    val measured = model.evaluate(data.where("held"))
    val last = model.summary.history.last
    assert(measured.keySet == Set("loss", "mae"))
    assert(math.abs(measured("loss") - last.validationLoss.get) < 1e-6)
    assert(math.abs(measured("mae") - last.validationMetrics("mae")) < 1e-6)
    val none = intercept[UserError](model.evaluate(data.where("id < 0")))
    assert(none.getMessage == "No rows to measure: the data is empty")
    val (bad, counts) =
      failing[UserError](model.evaluate(data.selectExpr("features", "if(held, null, total) as total")))
    assert(bad.getMessage.startsWith("Label is null") && counts.jobs == 1)
    assertNothingIsAlive()
  }

  test("model, estimator and pipeline come back as they were saved") {
    val folder = temporary("regressor")
    val estimator = regressor(2).setLabelCols(Array("total", "gap")).setPredictionCol("guess")
    estimator.save(folder.resolve("estimator").toString)
    val loaded = NeuralNetRegressor.load(folder.resolve("estimator").toString)
    assert(loaded.getLabelCols.toSeq == Seq("total", "gap") && loaded.getNetwork == estimator.getNetwork)
    val pipeline = new Pipeline().setStages(Array(estimator)).fit(data)
    pipeline.save(folder.resolve("pipeline").toString)
    val back = PipelineModel.load(folder.resolve("pipeline").toString)
    assert(back.transform(data).collect().toSeq == pipeline.transform(data).collect().toSeq)
    val model = back.stages.head.asInstanceOf[NeuralNetRegressionModel]
    assert(model.evaluate(data)("loss") < 0.05)
    assert(model.tensors.map { case (name, tensor) => name -> tensor.shape } ==
      Map("dense/kernel" -> Seq(4L, 2L), "dense/bias" -> Seq(2L)))
    assert(model.tensors("dense/kernel").values.length == 8)
  }

  test("TrainValidationSplit picks the better of two learning rates") {
    val estimator = regressor(1).setLabelCol("total").setEpochs(3)
    val grid = new ParamGridBuilder().addGrid(estimator.learningRate, Array(1e-6, 0.05)).build()
    val tuned = new TrainValidationSplit()
      .setEstimator(estimator)
      .setEstimatorParamMaps(grid)
      .setEvaluator(new RegressionEvaluator().setLabelCol("total"))
      .setSeed(1)
      .fit(data)
    assert(tuned.validationMetrics(1) < tuned.validationMetrics(0))
    assert(tuned.bestModel.asInstanceOf[NeuralNetRegressionModel].transform(data).count() == 600)
  }
}
