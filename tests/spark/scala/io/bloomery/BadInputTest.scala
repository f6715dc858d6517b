package io.bloomery

import io.bloomery.network._
import org.apache.spark.SparkException
import org.apache.spark.ml.functions.array_to_vector
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, lit, udf, when}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class BadInputTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private def data: DataFrame = Tiny.data(spark)
  private def twoWorkers: NeuralNetClassifier = Tiny.classifier.setNumWorkers(2)

  private def bytes(length: Int): DataFrame =
    data.withColumn("features", lit(Array.fill[Byte](length)(1)))

  test("what the driver can see is refused before any job") {
    val cases = Table[NeuralNetClassifier, DataFrame, Seq[String]](
      ("classifier", "data", "said"),
      (twoWorkers.setFeaturesCol("feature"), data, Seq("featuresCol", "did you mean features?", "id, features, label")),
      (twoWorkers.setLabelCol("Label"), data, Seq("labelCol", "did you mean label?")),
      (twoWorkers.setWeightCol("w"), data, Seq("weightCol", "not there: w, columns: id, features, label")),
      (
        twoWorkers,
        data.withColumn("features", lit("text")),
        Seq("""texts as {"column": "features", "vocabulary": "learn"}""", "in featuresCols", "type STRING")),
      (
        twoWorkers.setFeaturesCols(Array("""{"column": "word", "vocab": ["a", "b"]}""")),
        data.withColumn("word", lit("a")),
        Seq("Unknown option: vocab", "vocabulary")),
      (
        twoWorkers,
        data.withColumn("label", lit("text")),
        Seq("labelCol", "a number", "StringIndexer or list them in labelVocabulary", "type STRING")),
      (
        twoWorkers,
        spark.readStream.schema(data.schema).parquet(temporary("stream").toString),
        Seq("A stream has no last row to train up to", "foreachBatch")),
      (twoWorkers, data.withColumn("label", col("features")), Seq("labelCol", "a number", "type ARRAY<FLOAT>")),
      (twoWorkers.setValidationIndicatorCol("id"), data, Seq("validationIndicatorCol", "boolean", "type BIGINT")),
      (twoWorkers.setPredictionCol("label"), data, Seq("predictionCol", "exists already", "label")),
      (new NeuralNetClassifier(), data, Seq("set the param network")),
      (
        twoWorkers.setNetwork("{"),
        data,
        Seq("Not valid JSON: network, Unexpected end-of-input: expected close marker")),
      (twoWorkers.setSlotTimeout(-1), data, Seq("Negative: slotTimeout -1.0, give seconds from 0")),
      (
        twoWorkers.setNetwork("""{"format":"bloomery-network","version":1,"layers":[{"kind":"Imput","shape":[4]}]}"""),
        data,
        Seq("Imput", "Input")),
      (
        twoWorkers.setNetwork(
          """{"format":"bloomery-network","version":1,"layers":[{"kind":"Input","shape":[4]},{"kind":"Dense","unit":3}]}"""),
        data,
        Seq("unit", "units")),
      (twoWorkers.setOptimizer("adamm"), data, Seq("adamm", "adam")),
      (twoWorkers.setOptimizer("""{"kind":"adam","betta1":0.5}"""), data, Seq("betta1", "beta1")),
      (twoWorkers.setMomentum(0.9), data, Seq("momentum")),
      (twoWorkers.setLoss("crossentropy"), data, Seq("crossentropy", "categorical_crossentropy")),
      (twoWorkers.setMetrics(Array("accurate")), data, Seq("accurate", "accuracy")),
      (
        twoWorkers.setNetwork(
          Sequential(Input((8, 8, 1)), Conv2D(2, 9, name = "wide"), Flatten(), Dense(3, activation = "softmax"))),
        data,
        Seq("wide", "input")),
      (twoWorkers.setNumWorkers(3), data, Seq("numWorkers 3", "slots 2", "local[2]")),
      (twoWorkers.setNumWorkers(0), data, Seq("numWorkers", "at least 1")),
      (twoWorkers.setBatchSize(0), data, Seq("batchSize")),
      (twoWorkers.setEpochs(0), data, Seq("epochs")),
      (twoWorkers.setGlobalBatchSize(10), data, Seq("batchSize", "globalBatchSize")),
      (
        { val fresh = twoWorkers; fresh.clear(fresh.batchSize); fresh.setGlobalBatchSize(1) },
        data,
        Seq("globalBatchSize", "workers")),
      (twoWorkers.setConnectTimeout(0), data, Seq("connectTimeout")))
    forAll(cases) { (classifier, data, said) =>
      val (error, counts) = failing[UserError](classifier.fit(data))
      said.foreach(part => assert(error.getMessage.contains(part)))
      assert(counts.jobs == 0)
    }
    assertNothingIsAlive()
  }

  test("a worker that needs more memory than there is says so before it takes any, and is tried once") {
    // Parameters, gradients and moments of 30 GB.
    val deep: Seq[Layer] = Seq.fill(8)(Dense(1 << 14, activation = "relu")) :+ Dense(3, activation = "softmax")
    val large = Sequential("large")(Input(4) +: deep: _*)
    val cases = Table[NeuralNetClassifier, Seq[String]](
      ("classifier", "said"),
      (twoWorkers.setDataMemory(1L << 45), Seq("lower dataMemory or batchSize", "33554432 MB for rows (dataMemory)")),
      (twoWorkers.setNetwork(large), Seq("lower batchSize", "MB are free of", "for the network")))
    forAll(cases) { (classifier, said) =>
      val (error, counts) = failing[ResourceError](classifier.fit(data))
      assert(error.getMessage.startsWith("Executor has too little free memory; "))
      said.foreach(part => assert(error.getMessage.contains(part)))
      assert(counts.barrierTasks == 2)
      assertNothingIsAlive()
    }
    twoWorkers.setEpochs(1).fit(data) // what was kept is given back
  }

  test("what only data shows names partition and row, and is tried once") {
    def withLabel(value: Any): DataFrame =
      data.withColumn("label", when(col("id") === 451, lit(value)).otherwise(col("label")))
    val cases = Table[NeuralNetClassifier, DataFrame, Seq[String]](
      ("classifier", "data", "said"),
      (twoWorkers, withLabel(3), Seq("3", "partition 3", "row 1")),
      (twoWorkers, withLabel(-1), Seq("-1", "partition 3", "row 1")),
      (twoWorkers, withLabel(0.5), Seq("0.5", "partition 3", "row 1")),
      (
        twoWorkers,
        data.withColumn("label", when(col("id") =!= 451, col("label"))),
        Seq("null", "label", "partition 3", "row 1")),
      (
        twoWorkers,
        data.withColumn("features", when(col("id") =!= 451, col("features"))),
        Seq("null", "features", "partition 3", "row 1")),
      (
        twoWorkers,
        data.selectExpr("id", "label", "if(id = 451, slice(features, 1, 3), features) as features"),
        Seq("features", "partition 3", "row 1")),
      (
        twoWorkers,
        data
          .selectExpr("id", "label", "if(id = 451, slice(features, 1, 3), features) as features")
          .withColumn("features", array_to_vector(col("features"))),
        Seq("Wrong size of vector: 3 values, wanted 4", "column 'features'", "row 1 of partition 3")),
      (
        twoWorkers
          .setNetwork(Sequential(Input(1), Dense(3, activation = "softmax")))
          .setFeaturesCols(Array("""{"column": "word", "vocabulary": ["a", "b"]}""")),
        data.selectExpr("id", "label", "if(id = 451, 'c', if(id % 2 = 0, 'a', 'b')) as word"),
        Seq("Category out of vocabulary: 'c'", "column 'word'", "row 1 of partition 3")),
      (twoWorkers, bytes(15), Seq("15", "16", "features", "partition", "row 0")),
      (twoWorkers, data.limit(0), Seq("rows")))
    forAll(cases) { (classifier, data, said) =>
      val (error, counts) = failing[UserError](classifier.fit(data))
      said.foreach(part => assert(error.getMessage.contains(part)))
      assert(counts.barrierTasks == 2)
    }
    assertNothingIsAlive()
  }

  test("a loss that is not a number stops with epoch and step") {
    val (error, counts) = failing[UserError] {
      twoWorkers.setOptimizer("sgd").setLearningRate(1e30).setEpochs(3).fit(data)
    }
    assert(error.getMessage.contains("epoch") && error.getMessage.contains("step"))
    assert(counts.barrierTasks == 2)
    assertNothingIsAlive()
  }

  test("an exception of a UDF arrives as itself and is tried once") {
    val check = udf((id: Long) => if (id == 451) throw new IllegalArgumentException("row 451 is bad") else id)
    val broken = data.withColumn("label", col("label") + check(col("id")) - col("id"))
    val collected = intercept[SparkException](broken.collect())
    val (error, counts) = failing[SparkException](twoWorkers.fit(broken))
    assert(error.getCondition == collected.getCondition)
    assert(error.getCause.getClass == classOf[IllegalArgumentException])
    assert(error.getCause.getMessage == "row 451 is bad")
    assert(counts.barrierTasks == 2)
    assertNothingIsAlive()
  }

  test("a failure does not wait for a worker that is held up in the user's code") {
    val slow = udf { (id: Long) => if (id == 0) Thread.sleep(60000); id }
    val held = Tiny.data(spark, partitions = 2)
      .withColumn("label", when(col("id") === 301, lit(99)).otherwise(col("label") + slow(col("id")) - col("id")))
    val started = System.nanoTime()
    val (error, counts) = failing[UserError](twoWorkers.fit(held))
    assert(error.getMessage.contains("99") && counts.jobs == 1)
    assert(System.nanoTime() - started < 20e9)
    assertNothingIsAlive()
  }

  test("the network's summary is a table, and a wrong one a sentence") {
    val summary = Tiny.network.summary()
    Seq("dense", "Dense", "131").foreach(part => assert(summary.contains(part)))
    assert(Tiny.network.parameters == 131)
    intercept[UserError](Sequential(Input(4), Dense(0)).summary())
  }

  test("mnist-cnn has its parameters") {
    val network = Sequential("mnist-cnn")(
      Input((28, 28, 1), dtype = "uint8", scale = 1.0 / 255),
      Conv2D(32, 3, activation = "relu"),
      Conv2D(64, 3, activation = "relu"),
      MaxPool2D(2),
      Dropout(0.25),
      Flatten(),
      Dense(128, activation = "relu"),
      Dropout(0.5),
      Dense(10, activation = "softmax"))
    assert(network.parameters == 1199882)
  }
}

class DynamicAllocationTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local-cluster[1,1,1024]"
  override def settings: Map[String, String] = Map(
    "spark.dynamicAllocation.enabled" -> "true",
    "spark.dynamicAllocation.shuffleTracking.enabled" -> "true")

  test("dynamic allocation is refused before any job") {
    val (error, counts) = failing[UserError](Tiny.classifier.fit(Tiny.data(spark)))
    assert(error.getMessage.contains("spark.dynamicAllocation.enabled=false"))
    assert(counts.jobs == 0)
  }
}
