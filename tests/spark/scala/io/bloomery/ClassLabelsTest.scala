package io.bloomery

import io.bloomery.network.{Dense, Input, Sequential}
import org.apache.spark.ml.Pipeline
import org.apache.spark.ml.attribute.{Attribute, NominalAttribute}
import org.apache.spark.ml.evaluation.MulticlassClassificationEvaluator
import org.apache.spark.ml.feature.{IndexToString, StringIndexer}
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.ml.tuning.{CrossValidator, ParamGridBuilder}
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

/** Classes that have names, and thresholds between them. */
class ClassLabelsTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data: DataFrame =
    Tiny.data(spark).selectExpr("features", "label", "array('small', 'medium', 'large')[label] as size")

  private def labelsOf(predicted: DataFrame): Option[Seq[String]] =
    Attribute.fromStructField(predicted.schema("prediction")).asInstanceOf[NominalAttribute].values.map(_.toSeq)

  test("labels of a StringIndexer go with the prediction, and come back as words") {
    val indexer = new StringIndexer().setInputCol("size").setOutputCol("index")
    val words = new IndexToString().setInputCol("prediction").setOutputCol("predictedSize")
    val pipeline = new Pipeline().setStages(Array(indexer, Tiny.classifier.setLabelCol("index"), words)).fit(data)
    val predicted = pipeline.transform(data)
    assert(predicted.where("predictedSize = size").count() > 500)
    val model = pipeline.stages(1).asInstanceOf[NeuralNetClassificationModel]
    val indexed = pipeline.stages.head.transform(data)
    val folder = temporary("labels").resolve("model").toString
    model.save(folder)
    val loaded = NeuralNetClassificationModel.load(folder)
    assert(loaded.getLabels.toSet == Set("small", "medium", "large"))
    assert(labelsOf(loaded.transform(indexed)) == Some(loaded.getLabels.toSeq))
  }

  test("labels of another number than the network's classes are refused before any job") {
    val indexed = new StringIndexer().setInputCol("id").setOutputCol("index").fit(Tiny.data(spark, rows = 5))
      .transform(Tiny.data(spark, rows = 5))
    val (error, counts) = failing[UserError](Tiny.classifier.setLabelCol("index").fit(indexed))
    assert(error.getMessage ==
      "labelCol has other labels than the network has classes: column index, 5 labels, classes: 3")
    assert(counts.jobs == 0)
  }

  test("a vocabulary gives the labels, too") {
    val model = Tiny.classifier.setLabelCol("size").setLabelVocabulary(Array("small", "medium", "large")).fit(data)
    assert(labelsOf(model.transform(data)) == Some(Seq("small", "medium", "large")))
    assert(model.evaluate(data)("accuracy") > 0.8)
  }

  test("thresholds divide the probabilities") {
    val model = Tiny.classifier.fit(data)
    val limits = Array(0.9, 0.05, 0.5)
    val rows = model.copy(org.apache.spark.ml.param.ParamMap(model.thresholds -> limits)).transform(data)
    rows.select("probability", "prediction").collect().foreach { row =>
      val scaled = row.getAs[Vector](0).toArray.zip(limits).map { case (p, t) => p / t }
      assert(row.getDouble(1) == scaled.indexOf(scaled.max).toDouble)
    }
    assert(rows.where("prediction = 1").count() > model.transform(data).where("prediction = 1").count())
    val wrong = intercept[UserError](model.setThresholds(Array(0.5, 0.5)).transform(data))
    assert(wrong.getMessage == "Wrong number of thresholds: 2, classes of the network: 3")
  }

  test("one sigmoid is trained by binary crossentropy by default, and takes two thresholds") {
    val binary = data.selectExpr("features", "int(features[0] > features[1]) as label")
    val network = Sequential("binary")(Input(4), Dense(16, activation = "relu"), Dense(1, activation = "sigmoid"))
    val model = Tiny.classifier.setNetwork(network).setThresholds(Array(0.8, 0.2)).fit(binary)
    model.transform(binary).select("probability", "prediction").collect().foreach { row =>
      val p = row.getAs[Vector](0)
      assert(row.getDouble(1) == (if (p(1) / 0.2 > p(0) / 0.8) 1.0 else 0.0))
    }
    assert(model.evaluate(binary)("accuracy") > 0.8)
  }

  test("CrossValidator finds the better of two learning rates") {
    val estimator = Tiny.classifier.setEpochs(2)
    val grid = new ParamGridBuilder().addGrid(estimator.learningRate, Array(1e-6, 0.05)).build()
    val tuned = new CrossValidator()
      .setEstimator(estimator)
      .setEstimatorParamMaps(grid)
      .setEvaluator(new MulticlassClassificationEvaluator().setMetricName("accuracy"))
      .setNumFolds(2)
      .setSeed(1)
      .fit(data)
    assert(tuned.avgMetrics(1) > tuned.avgMetrics(0))
    assert(tuned.bestModel.isInstanceOf[NeuralNetClassificationModel])
    assertNothingIsAlive()
  }
}
