package io.bloomery

import io.bloomery.network._
import java.util.concurrent.ConcurrentLinkedQueue
import org.apache.spark.bloomery.JobLog
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** Several param maps over rows that are read once. */
class FitMultipleTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data: DataFrame =
    Tiny.data(spark).selectExpr("*", "(label + 1) % 3 as shifted", "string(id % 5) as word", "id % 4 = 0 as held")

  private val classifier: NeuralNetClassifier = Tiny.classifier.setNumWorkers(2).setEpochs(2)

  private def wide: Network =
    Sequential("wide")(Input(4), Dense(32, activation = "tanh"), Dropout(0.3), Dense(3, activation = "softmax"))

  /** The same rows, and how many of them were read. */
  private def counted(rows: DataFrame): (DataFrame, LongAccumulator) = {
    val read = spark.sparkContext.longAccumulator
    val counting = udf { (label: Int) =>
      read.add(1)
      label
    }
    (rows.withColumn("label", counting(col("label"))), read)
  }

  private def assertAsAlone(estimator: NeuralNetClassifier, rows: DataFrame, maps: Seq[ParamMap]): Unit = {
    val together = estimator.fit(rows, maps)
    assert(together.length == maps.length)
    together.zip(maps).foreach { case (model, map) =>
      val alone = estimator.fit(rows, map)
      assert(model.weights.toSeq == alone.weights.toSeq, map)
      assert(model.uid == alone.uid && model.network == alone.network)
      assert(model.explainParams() == alone.explainParams())
      assert(model.parent.explainParams() == alone.parent.explainParams(), map)
      assert(
        model.summary.history.map(epoch => (epoch.epoch, epoch.loss, epoch.metrics, epoch.samples, epoch.steps)) ==
          alone.summary.history.map(epoch => (epoch.epoch, epoch.loss, epoch.metrics, epoch.samples, epoch.steps)))
    }
  }

  test("models are those of separate fits, in the order of their param maps, and each row is read once") {
    val maps = Seq(
      ParamMap(classifier.learningRate -> 0.001),
      ParamMap(classifier.epochs -> 3, classifier.batchSize -> 50, classifier.shuffle -> false),
      ParamMap(classifier.network -> wide.toJson, classifier.seed -> 11L, classifier.predictionCol -> "guess"),
      ParamMap.empty)
    val (rows, read) = counted(data)
    val (models, counts) = JobLog.count(spark.sparkContext)(classifier.fit(rows, maps))
    assert(read.value == 600)
    assert(counts.barrierTasks == 2 && counts.barrierShuffleBytesRead == 0)
    assert(models.map(_.summary.history.length) == Seq(2, 3, 2, 2))
    assert(models.map(_.getPredictionCol) == Seq("prediction", "prediction", "guess", "prediction"))
    assertNothingIsAlive()
    assertAsAlone(classifier, data, maps)
    assertNothingIsAlive()
  }

  test("so it is for files, and for what only all rows tell") {
    val folder = temporary("multiple").resolve("data").toString
    data.write.parquet(folder)
    val learning = classifier
      .copy(ParamMap.empty)
      .setNetwork(Sequential("words")(Input(2), Normalization(), Dense(3, activation = "softmax")))
      .setFeaturesCols(Array("id", """{"column": "word", "vocabulary": "learn"}"""))
      .setValidationFraction(0.25)
    val maps = Seq(0.1, 0.01).map(rate => ParamMap(learning.learningRate -> rate))
    val files = spark.read.parquet(folder)
    assertAsAlone(learning, files, maps)
    assert(learning.fit(files, maps).map(_.summary.input.takeWhile(_ != ':')) == Seq("parquet", "parquet"))
  }

  test("param maps that want other rows have a stage of their own") {
    val maps = Seq(
      ParamMap(classifier.learningRate -> 0.1),
      ParamMap(classifier.labelCol -> "shifted"),
      ParamMap(classifier.numWorkers -> 1),
      ParamMap(classifier.validationIndicatorCol -> "held"),
      ParamMap(classifier.learningRate -> 0.2),
      ParamMap(classifier.labelCol -> "shifted", classifier.batchSize -> 10))
    val (rows, read) = counted(data)
    val (models, counts) = JobLog.count(spark.sparkContext)(classifier.fit(rows, maps))
    assert(counts.barrierTasks == 2 + 2 + 1 + 2)
    assert(read.value == 3 * 600) // shifted is another column
    assert(models.map(_.summary.numWorkers) == Seq(2, 2, 1, 2, 2, 2))
    assert(models.map(_.summary.history.last.validationLoss.isDefined).indexOf(true) == 3)
    assertAsAlone(classifier, data, maps)
  }

  test("the param map whose training fails is named, and nothing is left behind") {
    val maps = Seq(0.01, 1e30, 0.02).map(rate => ParamMap(classifier.learningRate -> rate))
    val (error, counts) = failing[UserError](classifier.fit(data, maps))
    assert(error.getMessage.endsWith(", param map 2 of 3 (learningRate: 1.0E30)"), error.getMessage)
    assert(error.getMessage.contains("finite"))
    assert(counts.barrierTasks == 2)
    assertNothingIsAlive()
  }

  test("a param map that can never be trained is named before any job") {
    val maps = Seq(ParamMap.empty, ParamMap(classifier.batchSize -> -3))
    val (error, counts) = failing[UserError](classifier.fit(data, maps))
    assert(error.getMessage.endsWith(", param map 2 of 2 (batchSize: -3)"), error.getMessage)
    assert(counts.jobs == 0)
  }

  test("callbacks are told of every epoch of every param map, and stop the one that they are told of") {
    val told = new ConcurrentLinkedQueue[(Int, Long)]
    val watched = classifier.copy(ParamMap.empty).setCallbacks { record =>
      told.add((record.epoch, record.steps))
      record.epoch == 2
    }
    val maps = Seq(10, 20).map(size => ParamMap(watched.batchSize -> size, watched.epochs -> 4))
    val models = watched.fit(data, maps)
    assert(told.asScala.toSeq == Seq((1, 30L), (2, 30L), (1, 15L), (2, 15L)))
    assert(models.map(_.summary.history.length) == Seq(2, 2))
    models.foreach { model =>
      assert(model.summary.events.map(_.text).last == "Training stopped after epoch 2: a callback asked for it")
    }
  }

  test("large models do not wait for each other in one stage") {
    val stages = NetworkEstimator.inStages(Seq(100L, 100L, 100L, 300L, 1L, 255L, 1L))(_ << 20)
    assert(stages == Seq(Seq(100L, 100L), Seq(100L), Seq(300L), Seq(1L, 255L), Seq(1L)))
  }

  test("each that keeps files of its own has a stage of its own") {
    val folder = temporary("multiple")
    val maps = Seq("a", "b").map(name => ParamMap(classifier.checkpointPath -> folder.resolve(name).toString))
    val (models, counts) = JobLog.count(spark.sparkContext)(classifier.fit(data, maps))
    assert(counts.barrierTasks == 4)
    assert(models.map(_.weights.toSeq).distinct.length == 1)
  }
}
