package io.bloomery

import io.bloomery.network.{Dense, Input, Sequential}
import java.nio.{ByteBuffer, ByteOrder}
import org.apache.spark.bloomery.JobLog
import org.apache.spark.ml.Pipeline
import org.apache.spark.ml.evaluation.MulticlassClassificationEvaluator
import org.apache.spark.ml.functions.array_to_vector
import org.apache.spark.ml.tuning.{ParamGridBuilder, TrainValidationSplit}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, lit, udf}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

/** What a fit must do wherever it runs. */
trait FitBehaviour extends AnyFunSuite with EngineSuite {

  private def fit(classifier: NeuralNetClassifier, data: DataFrame): NeuralNetClassificationModel =
    failAfter(120.seconds)(classifier.fit(data))

  test("two workers learn, and leave nothing behind") {
    val data = Tiny.data(spark)
    val model = fit(Tiny.classifier.setNumWorkers(2), data)
    assert(Tiny.accuracy(model.transform(data)) > 0.8)
    assert(model.summary.history.map(_.epoch) == (1 to 5))
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(600L))
    assert(model.summary.history.last.loss < model.summary.history.head.loss)
    assert(model.summary.history.last.metrics("accuracy") > 0.8)
    val phases = model.summary.phases
    assert(phases.map(_._1) == Seq("preparing", "starting", "loading", "training", "validation", "returning"))
    assert(phases.forall(_._2 >= 0) && math.abs(phases.map(_._2).sum - model.summary.totalSeconds) < 1e-6)
    assert(math.abs(phases.toMap.apply("training") - model.summary.history.map(_.seconds).sum) < 1e-6)
    val workers = model.summary.workerHistory
    assert(workers.flatten.forall(_.peakMemoryBytes > (64 << 20)))
    assert(workers.map(_.map(_.rows)) == Seq.fill(2)(Seq.fill(5)(300L)))
    assert(workers.flatten.forall(epoch => epoch.bytes == 300 * (4 * 4 + 4 + 12) && epoch.computeSeconds > 0))
    assert(workers.forall(_.head.convertSeconds > 0))
    assert(workers.forall(_.tail.forall(epoch => epoch.readSeconds == 0 && epoch.convertSeconds == 0)))
    Seq("assemble", "forward", "backward", "bucket 1", "optimizer").foreach { name =>
      Seq(0, 1).foreach { rank =>
        assert(s""""name":"$name".*?"pid":$rank""".r.findFirstIn(model.summary.trace).isDefined)
      }
    }
    assert(model.numParameters == 4 * 16 + 16 + 16 * 3 + 3)
    assertNothingIsAlive()
  }

  test("the same seed gives the same bits, another seed does not") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(2)
    val weights = fit(classifier, data).weights.toSeq
    assert(fit(classifier, data).weights.toSeq == weights)
    assert(fit(classifier.setSeed(8), data).weights.toSeq != weights)
  }

  test("seven partitions go to two workers without a shuffled byte") {
    val data = Tiny.data(spark, partitions = 7)
    val (_, counts) = JobLog.count(spark.sparkContext)(fit(Tiny.classifier.setNumWorkers(2), data))
    assert(counts == JobLog.Counts(jobs = 1, barrierTasks = 2, barrierShuffleBytesRead = 0))
  }

  test("an empty partition of two, and fewer rows than workers, train") {
    val oneEmpty = Tiny.data(spark, partitions = 2).filter("id < 300")
    val single = Tiny.data(spark, rows = 1, partitions = 1)
    Seq(oneEmpty -> 300L, single -> 1L).foreach { case (data, rows) =>
      val model = fit(Tiny.classifier.setNumWorkers(2).setEpochs(2), data)
      assert(model.summary.history.map(_.samples) == Seq(rows, rows))
    }
    assertNothingIsAlive()
  }

  test("rows that take three times stepTimeout to come are waited for, and change nothing") {
    val slow = udf { (id: Long) => if (id == 599) Thread.sleep(6000); id }
    val data = Tiny.data(spark)
    val held = data.withColumn("label", col("label") + (slow(col("id")) - col("id")).cast("int"))
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(2).setStepTimeout(2).setShuffleBuffer(100)
    val weights = fit(classifier, data).weights.toSeq
    val model = fit(classifier, held)
    assert(model.weights.toSeq == weights)
    assert(model.summary.history.map(_.samples) == Seq(600L, 600L))
    assert(model.summary.history.head.seconds > 5)
  }

  test("features of every kind train and predict") {
    val data = Tiny.data(spark)
    val bytes = udf { (values: Seq[Float]) =>
      val buffer = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN)
      values.foreach(value => buffer.putFloat(value))
      buffer.array()
    }
    val kinds = Seq(
      data,
      data.withColumn("features", col("features").cast("array<double>")),
      data.withColumn("features", col("features").cast("array<decimal(10,3)>")),
      data.withColumn("features", array_to_vector(col("features"))),
      data.withColumn("features", bytes(col("features"))))
    val weights = kinds.map { data =>
      val model = fit(Tiny.classifier.setEpochs(2), data)
      assert(model.transform(data).count() == 600)
      model.weights.toSeq
    }
    assert(weights.distinct.size == 1)
  }

  test("a single number is a feature, too") {
    val network = Sequential(Input(1), Dense(3, activation = "softmax"))
    val data = Tiny.data(spark).withColumn("features", col("features")(0))
    val model = fit(Tiny.classifier.setNetwork(network).setEpochs(1), data)
    assert(model.transform(data).filter("prediction >= 0").count() == 600)
  }

  test("forceRepartition deals rows to all workers") {
    val data = Tiny.data(spark, partitions = 1)
    val model = fit(Tiny.classifier.setNumWorkers(2).setForceRepartition(true), data)
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(600L))
  }

  test("equal weights change nothing, validation rows are not trained on") {
    val data = Tiny.data(spark).withColumn("two", lit(2.0)).withColumn("held", col("id") % 4 === 0)
    val plain = fit(Tiny.classifier.setEpochs(2), data)
    val weighted = fit(Tiny.classifier.setEpochs(2).setWeightCol("two"), data)
    assert(weighted.weights.toSeq == plain.weights.toSeq)
    val validated = fit(Tiny.classifier.setEpochs(2).setValidationIndicatorCol("held"), data)
    assert(validated.summary.history.map(_.samples) == Seq(450L, 450L))
    assert(validated.summary.history.forall(_.validationLoss.isDefined))
    assert(plain.summary.history.forall(_.validationLoss.isEmpty))
  }

  test("an estimator works in a pipeline") {
    val data = Tiny.data(spark)
    val model = failAfter(60.seconds)(new Pipeline().setStages(Array(Tiny.classifier)).fit(data))
    assert(model.transform(data).columns.toSeq ==
      Seq("id", "features", "label", "prediction", "probability", "rawPrediction"))
  }
}

class LocalFitTest extends FitBehaviour {
  override def master: String = "local[2]"

  test("one and two workers end with about the same accuracy") {
    val data = Tiny.data(spark)
    val accuracies = Seq(1, 2).map { workers =>
      val classifier = Tiny.classifier.setNumWorkers(workers).setEpochs(10)
      classifier.clear(classifier.batchSize)
      Tiny.accuracy(classifier.setGlobalBatchSize(20).fit(data).transform(data))
    }
    assert(math.abs(accuracies.head - accuracies.last) < 0.03)
  }

  test("an estimator is tuned by Spark's own validation") {
    val classifier = Tiny.classifier
    val grid = new ParamGridBuilder().addGrid(classifier.learningRate, Array(1e-9, 0.02)).build()
    val tuned = new TrainValidationSplit()
      .setEstimator(classifier)
      .setEvaluator(new MulticlassClassificationEvaluator().setMetricName("accuracy"))
      .setEstimatorParamMaps(grid)
      .setSeed(1)
      .fit(Tiny.data(spark))
    assert(tuned.validationMetrics(1) > tuned.validationMetrics(0))
    assert(Tiny.accuracy(tuned.transform(Tiny.data(spark))) > 0.7)
  }
}

class KryoFitTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map(
    "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrationRequired" -> "true")

  test("a serializer that wants to know every class needs to know none of ours") {
    val data = Tiny.data(spark)
    assert(Tiny.accuracy(Tiny.classifier.setNumWorkers(2).fit(data).transform(data)) > 0.8)
  }
}

class ClusterFitTest extends FitBehaviour {
  override def master: String = "local-cluster[2,1,1024]"
}
