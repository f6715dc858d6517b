package io.bloomery

import io.bloomery.network.{Dense, Input, Sequential}
import org.apache.spark.SparkThrowable
import org.apache.spark.bloomery.JobLog
import org.apache.spark.ml.attribute.{Attribute, AttributeGroup, NominalAttribute}
import org.apache.spark.ml.evaluation.MulticlassClassificationEvaluator
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.functions.{col, count, lit, udf, when}
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.funsuite.AnyFunSuite

class TransformTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data: DataFrame = {
    val path = temporary("tiny").resolve("data").toString
    Tiny.data(spark).withColumn("unused", lit("text")).write.parquet(path)
    spark.read.parquet(path)
  }
  private lazy val model = Tiny.classifier.fit(data)

  private def optimized(frame: DataFrame): LogicalPlan =
    frame.asInstanceOf[classic.Dataset[Row]].queryExecution.optimizedPlan

  /** The columns that reach the prediction. */
  private def read(frame: DataFrame): Seq[String] =
    optimized(frame).collect {
      case node if node.nodeName == "Predict" => node.children.head.output.map(_.name)
    }.flatten

  /** The columns that are read from the files. */
  private def scanned(frame: DataFrame): Seq[String] =
    frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan.collectLeaves().flatMap(_.output.map(_.name))

  private def predicts(frame: DataFrame): Boolean =
    optimized(frame).exists(_.nodeName == "Predict")

  test("transform runs no job and keeps rows, columns and order") {
    model
    val (predicted, counts) = JobLog.count(spark.sparkContext)(model.transform(data))
    assert(counts.jobs == 0)
    assert(predicted.columns.toSeq == data.columns.toSeq ++ Seq("prediction", "probability", "rawPrediction"))
    assert(predicted.select("id").collect().toSeq == data.select("id").collect().toSeq)
    assertNothingIsAlive()
  }

  test("one sigmoid tells two classes, as the metric counts them") {
    val binary = data.selectExpr("features", "int(features[0] > features[1]) as label", "id % 4 = 0 as held")
    val network = Sequential("binary")(Input(4), Dense(16, activation = "relu"), Dense(1, activation = "sigmoid"))
    val model = Tiny.classifier
      .setNetwork(network)
      .setLoss("binary_crossentropy")
      .setValidationIndicatorCol("held")
      .fit(binary)
    assert(model.numClasses == 2)
    val predicted = model.transform(binary)
    val rows = predicted.select("prediction", "probability", "rawPrediction").collect()
    assert(rows.map(_.getDouble(0)).toSet == Set(0.0, 1.0))
    rows.foreach { row =>
      val (probability, raw) = (row.getAs[Vector](1), row.getAs[Vector](2))
      assert(probability.size == 2 && math.abs(probability(0) + probability(1) - 1.0) < 1e-7)
      assert(raw(0) == -raw(1) && math.abs(1 / (1 + math.exp(raw(0))) - probability(1)) < 1e-5)
      assert(row.getDouble(0) == (if (probability(1) > 0.5) 1.0 else 0.0))
    }
    val accuracy = Tiny.accuracy(predicted.where("held"))
    assert(accuracy > 0.85)
    assert(math.abs(model.summary.history.last.validationMetrics("accuracy") - accuracy) < 1e-9)
    val group = AttributeGroup.fromStructField(predicted.schema("probability"))
    assert(group.size == 2)
  }

  test("predictions agree with each other and with the labels") {
    val rows = model.transform(data).select("label", "prediction", "probability", "rawPrediction").collect()
    assert(rows.length == 600)
    rows.foreach { row =>
      val (probability, raw) = (row.getAs[Vector]("probability"), row.getAs[Vector]("rawPrediction"))
      assert(probability.size == 3 && raw.size == 3)
      assert(math.abs(probability.toArray.sum - 1.0) < 1e-5)
      assert(probability.argmax == row.getAs[Double]("prediction").toInt)
      assert(raw.argmax == probability.argmax)
    }
    val accuracy = new MulticlassClassificationEvaluator().setMetricName("accuracy").evaluate(model.transform(data))
    assert(accuracy > 0.8)
  }

  test("columns that nobody uses are not read, predictions that nobody uses are not made") {
    val predicted = model.transform(data)
    Seq(Seq("prediction") -> Seq("features"), Seq("id", "probability") -> Seq("id", "features")).foreach {
      case (asked, needed) =>
        val narrow = predicted.select(asked.map(col): _*)
        assert(read(narrow) == needed)
        assert(scanned(narrow) == needed)
    }
    assert(predicts(predicted.select("prediction")))
    assert(!predicts(predicted.select("id")))
    assert(!predicts(predicted.agg(count("*"))))
    val narrow = optimized(predicted.select("prediction"))
    assert(!narrow.exists(_.output.exists(_.name == "rawPrediction")))
  }

  test("features that only the prediction needs are not carried along") {
    def carried(frame: DataFrame): Seq[String] =
      optimized(frame).collect { case node if node.nodeName == "Predict" => node.output.map(_.name) }.flatten
    val predicted = model.transform(data)
    assert(carried(predicted.select("id", "prediction")) == Seq("id", "prediction"))
    assert(carried(predicted.select("prediction")) == Seq("prediction"))
    assert(carried(predicted.filter("prediction = 1").select("id")) == Seq("id", "prediction"))
    assert(carried(predicted.select("features", "probability")) == Seq("features", "probability"))
    val bare = predicted.select("prediction").collect().map(_.getDouble(0)).toSeq
    assert(bare == predicted.collect().map(_.getAs[Double]("prediction")).toSeq)
  }

  test("columns of all types, nulls among them, come through many batches as they were") {
    val rows = Tiny.data(spark, rows = 5000, partitions = 1).selectExpr(Tiny.manyTypes: _*)
    val predicted = model.transform(rows)
    assert(predicted.select(rows.columns.toSeq.map(col): _*).collect().toSeq == rows.collect().toSeq)
    // Whatever the batch, a row's prediction is its own.
    val alone = model.transform(rows.filter("id % 61 = 7")).select("id", "probability", "rawPrediction")
    val among = predicted.filter("id % 61 = 7").select("id", "probability", "rawPrediction")
    alone.collect().zip(among.collect()).foreach { case (one, other) =>
      assert(one.getLong(0) == other.getLong(0))
      Seq(1, 2).foreach { i =>
        one.getAs[Vector](i).toArray.zip(other.getAs[Vector](i).toArray).foreach { case (a, b) =>
          assert(math.abs(a - b) < 1e-5)
        }
      }
    }
  }

  test("the first predictions wait for few rows, and for fewer where rows are slow") {
    Seq(0L -> 64L, 70L -> 8L).foreach { case (millis, atMost) =>
      val read = spark.sparkContext.longAccumulator
      val slow = udf { (features: Seq[Float]) =>
        read.add(1)
        Thread.sleep(millis)
        features
      }
      val rows = Tiny.data(spark, rows = 2000, partitions = 1).withColumn("features", slow(col("features")))
      assert(model.transform(rows).select("prediction").take(1).length == 1)
      assert(read.value >= 1 && read.value <= atMost)
    }
    assertNothingIsAlive()
  }

  test("a filter on other columns drops rows before they are predicted") {
    val filtered = model.transform(data).filter("id < 10")
    val inner = optimized(filtered).collect { case node if node.nodeName == "Predict" => node.children.head }
    assert(inner.exists(_.exists(_.nodeName == "Filter")))
    assert(filtered.count() == 10)
  }

  test("transform adds no exchange and keeps the partitions") {
    val predicted = model.transform(data.repartition(3, col("id")))
    val plan = predicted.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan.toString
    assert(plan.split("Exchange").length == 2)
    assert(predicted.rdd.getNumPartitions == 3)
  }

  test("outputs without a name are left out") {
    val quiet = model.copy(org.apache.spark.ml.param.ParamMap.empty).setProbabilityCol("").setRawPredictionCol("")
    assert(quiet.transform(data).columns.toSeq == data.columns.toSeq :+ "prediction")
    assert(quiet.setPredictionCol("").transform(data).columns.toSeq == data.columns.toSeq)
  }

  test("a transformed DataFrame joins, unions and caches with itself") {
    val predicted = model.transform(data).select("id", "prediction")
    val joined = predicted.as("a").join(predicted.as("b"), "id").filter(col("a.prediction") === col("b.prediction"))
    assert(joined.count() == 600)
    assert(predicted.union(predicted).count() == 1200)
    val twice = model.transform(predicted.withColumnRenamed("prediction", "first").join(data, "id"))
    assert(twice.filter("first = prediction").count() == 600)
    val cached = predicted.cache()
    assert(cached.filter("prediction >= 0").count() == 600)
    cached.unpersist(blocking = true)
    assertNothingIsAlive()
  }

  test("the schema tells the number of classes") {
    val schema = model.transform(data).schema
    assert(schema == model.transformSchema(data.schema))
    assert(AttributeGroup.fromStructField(schema("probability")).size == 3)
    assert(Attribute.fromStructField(schema("prediction")).asInstanceOf[NominalAttribute].getNumValues.contains(3))
  }

  test("one predictor serves all tasks and goes with the last, also when rows are left unread") {
    assert(model.transform(data.repartition(8)).limit(3).collect().length == 3)
    assertNothingIsAlive()
    val failed = model.transform(data.withColumn("features", when(col("id") < 500, col("features"))))
    val error = intercept[Exception](failed.select("prediction").collect())
    val causes = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).toSeq
    assert(causes.exists(_.isInstanceOf[UserError]))
    assertNothingIsAlive()
  }

  test("a session that is new and a dataset without rows predict, too") {
    val other = spark.newSession()
    assert(model.transform(other.read.parquet(data.inputFiles.toSeq: _*)).filter("prediction >= 0").count() == 600)
    assert(model.transform(data.limit(0)).collect().isEmpty)
  }

  test("a stream is predicted as it comes") {
    val stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    val query = model
      .transform(stream.selectExpr("transform(sequence(0, 3), i -> float(value % 7 - i)) as features"))
      .writeStream
      .format("memory")
      .queryName("predicted")
      .trigger(Trigger.AvailableNow())
      .start()
    query.awaitTermination(60000)
    assert(spark.table("predicted").filter("prediction >= 0").count() == 10)
    assertNothingIsAlive()
  }

  test("what only rows show is told as it is, and the engine's error is its cause") {
    val holed = data.selectExpr("if(id = 7, null, features) as features")
    val error = intercept[RuntimeException](model.transform(holed).collect())
    assert(error.getMessage.contains("Features are null: column 'features', row "))
    assert(error.asInstanceOf[SparkThrowable].getCondition == "USER_RAISED_EXCEPTION")
    assert(error.getCause.isInstanceOf[UserError])
    assertNothingIsAlive()
  }

  test("a missing or wrong features column is refused at the call") {
    assert(intercept[UserError](model.transform(data.drop("features"))).getMessage.contains("featuresCol"))
    assert(intercept[UserError](model.transform(model.transform(data))).getMessage.contains("exists already"))
  }
}
