package io.bloomery

import io.bloomery.network._
import org.apache.spark.ml.functions.array_to_vector
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, lit, udf, when}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class ColumnsTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private def data: DataFrame = Tiny.data(spark, rows = 60)

  private def probabilities(model: NeuralNetClassificationModel, data: DataFrame): Seq[Vector] =
    model.transform(data).orderBy("id").select("probability").collect().toSeq.map(_.getAs[Vector](0))

  test("features of every type train to the same model") {
    // Whole numbers below 100, so that every type holds them.
    val whole = data.selectExpr("id", "label", "transform(features, x -> abs(cast(x * 99 as int))) as features")
    val expected = probabilities(Tiny.classifier.fit(whole), whole)
    val cases = Table(
      "features",
      "cast(features as array<tinyint>)",
      "cast(features as array<bigint>)",
      "cast(features as array<double>)",
      "cast(features as array<decimal(9,2)>)",
      "transform(features, x -> date_add(date'1970-01-01', x))",
      "transform(features, x -> timestamp_seconds(x))",
      "transform(features, x -> cast(timestamp_seconds(x) as timestamp_ntz))",
      "array(slice(features, 1, 2), slice(features, 3, 2))",
      "array(array(slice(features, 1, 2)), array(slice(features, 3, 2)))")
    forAll(cases) { features =>
      val cast = whole.selectExpr("id", "label", s"$features as features")
      assert(probabilities(Tiny.classifier.fit(cast), cast) == expected)
    }
    val dense = whole.withColumn("features", array_to_vector(col("features").cast("array<double>")))
    val toSparse = udf((vector: Vector) => vector.toSparse: Vector)
    val sparse = dense.withColumn("features", toSparse(col("features")))
    Seq(dense, sparse).foreach(vectors => assert(probabilities(Tiny.classifier.fit(vectors), vectors) == expected))
    assertNothingIsAlive()
  }

  test("several columns make up the input, in training and in transform") {
    val expected = probabilities(Tiny.classifier.fit(data), data)
    val parts = data.selectExpr(
      "id",
      "label",
      "features[0] as `a.b`",
      "slice(features, 2, 2) as middle",
      "features[3] as last")
    val model = Tiny.classifier.setFeaturesCols(Array("a.b", "middle", "last")).fit(parts)
    assert(probabilities(model, parts) == expected)
    val path = temporary("columns").resolve("model").toString
    model.write.save(path)
    assert(probabilities(NeuralNetClassificationModel.load(path), parts) == expected)
    assert(model.transform(parts).columns.toSeq == parts.columns.toSeq ++ Seq(
      "prediction",
      "probability",
      "rawPrediction"))
    assertNothingIsAlive()
  }

  /** With the label as a word, and a column that has nulls. */
  private def words: DataFrame = data
    .withColumn("word", when(col("label") === 0, "zero").when(col("label") === 1, "one").otherwise("two"))
    .withColumn("holes", when(col("id") % 7 =!= 0, col("id") / 60))

  test("categories, null rules and labels that are words") {
    val network =
      Sequential(Input(3), Dense(16, activation = "relu"), Dense(3, activation = "softmax"))
    val classifier = Tiny.classifier
      .setNetwork(network)
      .setEpochs(60)
      .setLabelCol("word")
      .setLabelVocabulary(Array("zero", "one", "two"))
      .setFeaturesCols(
        Array(
          """{"column": "word", "vocabulary": ["zero", "one"], "outOfVocabulary": "last"}""",
          """{"column": "word", "hashBuckets": 7}""",
          """{"column": "holes", "nulls": "zero"}"""))
    assert(Tiny.accuracy(classifier.fit(words).transform(words)) > 0.95)
  }

  test("a learnt vocabulary and means come back with the model and are saved with it") {
    val network =
      Sequential(Input(2), Dense(16, activation = "relu"), Dense(3, activation = "softmax"))
    val model = Tiny.classifier
      .setNetwork(network)
      .setEpochs(40)
      .setNumWorkers(2)
      .setFeaturesCols(
        Array("""{"column": "word", "vocabulary": "learn"}""", """{"column": "holes", "nulls": "mean"}"""))
      .fit(words)
    val expected = probabilities(model, words)
    assert(Tiny.accuracy(model.transform(words)) > 0.95)
    val path = temporary("learnt").resolve("model").toString
    model.write.save(path)
    val loaded = NeuralNetClassificationModel.load(path)
    assert(probabilities(loaded, words) == expected)
    // What the rows at hand would tell is not what training learnt.
    assert(probabilities(loaded, words.filter("id = 49")) == Seq(expected(49)))
    val error = intercept[RuntimeException](loaded.transform(words.withColumn("word", lit("three"))).collect())
    assert(error.getMessage.contains("Category out of vocabulary: 'three', vocabulary: 3 words, column 'word'"))
  }

  test("a share of the rows is evaluated, the same for any number of workers") {
    def history(numWorkers: Int): (Long, Boolean) = {
      val epoch = Tiny.classifier.setValidationFraction(0.25).setNumWorkers(numWorkers).setEpochs(1).fit(
        data).summary.history.head
      (epoch.samples, epoch.validationLoss.isDefined)
    }
    val (samples, validated) = history(1)
    assert(validated && samples < 55 && samples > 30)
    assert(history(2) == ((samples, true)))
  }

  test("images of Spark's source train as their bytes") {
    val image = "named_struct('origin', '', 'height', 2, 'width', 2, 'nChannels', 1, 'mode', 0, 'data', bytes) as image"
    val bytes = data.selectExpr("id", "label", "cast(lpad(cast(id as string), 4, '0') as binary) as bytes")
    val network = Sequential(
      Input((2, 2, 1), dtype = "uint8", scale = 1.0 / 255),
      Flatten(),
      Dense(3, activation = "softmax"))
    val classifier = Tiny.classifier.setNetwork(network)
    val expected = probabilities(classifier.setFeaturesCol("bytes").fit(bytes), bytes)
    val images = bytes.selectExpr("id", "label", image)
    assert(probabilities(classifier.setFeaturesCol("image").fit(images), images) == expected)
  }

  test("what the driver can see of columns is refused before any job") {
    def several(columns: String*): NeuralNetClassifier = Tiny.classifier.setFeaturesCols(columns.toArray)
    val strings = data.withColumn("word", lit("a"))
    val cases = Table[NeuralNetClassifier, DataFrame, Seq[String]](
      ("classifier", "data", "said"),
      (several("feature"), data, Seq("featuresCols", "did you mean features?")),
      (several("features").setFeaturesCol("features"), data, Seq("Both featuresCol and featuresCols")),
      (several(), data, Seq("featuresCols names no column")),
      (several("word"), strings, Seq("featuresCols", "column word, type STRING")),
      (several("""{"name": "word"}"""), strings, Seq("give it as column")),
      (
        several("""{"column": "word", "vocabulary": ["a"], "null": "zero"}"""),
        strings,
        Seq("Unknown option: null", "nulls")),
      (
        several("""{"column": "features", "vocabulary": ["a"]}"""),
        data,
        Seq("texts and whole numbers", "ARRAY<FLOAT>")),
      (Tiny.classifier.setNulls("drop"), data, Seq("Unknown nulls: drop", "error, mean, zero")),
      (Tiny.classifier.setNans("no"), data, Seq("Unknown nans: no")),
      (Tiny.classifier.setValidationFraction(1), data, Seq("validationFraction 1")),
      (
        Tiny.classifier.setValidationFraction(0.5).setValidationIndicatorCol("held"),
        data.withColumn("held", lit(true)),
        Seq("Both validationFraction and a column")),
      (Tiny.classifier, data.selectExpr("id", "label", "map('a', 1) as features"), Seq("type MAP<STRING, INT>")),
      (Tiny.classifier, data.selectExpr("features", "map('a', 1) as label"), Seq("labelCol", "type MAP<STRING, INT>")),
      (Tiny.classifier, data.selectExpr("features", "struct(label) as label"), Seq("labelCol", "type STRUCT<")))
    forAll(cases) { (classifier, data, said) =>
      val (error, counts) = failing[UserError](classifier.fit(data))
      said.foreach(part => assert(error.getMessage.contains(part)))
      assert(counts.jobs == 0)
    }
  }

  test("what only data shows of columns names column, partition and row") {
    val cases = Table[NeuralNetClassifier, String, Seq[String]](
      ("classifier", "features", "said"),
      (
        Tiny.classifier,
        "if(id = 46, array(1.0f, 2.0f, null, 3.0f), features)",
        Seq("Feature is null: element 2", "nulls")),
      (Tiny.classifier, "if(id = 46, array(1.0f, 2.0f, float('nan'), 3.0f), features)", Seq("not finite: nan", "nans")),
      (
        Tiny.classifier,
        "if(id = 46, array(array(1, 2), array(3)), array(array(1, 2), array(3, 4)))",
        Seq("Ragged array")))
    forAll(cases) { (classifier, features, said) =>
      val broken = data.selectExpr("id", "label", s"$features as features")
      val (error, counts) = failing[UserError](classifier.fit(broken))
      (said ++ Seq("column 'features'", "row 1 of partition 3")).foreach(part =>
        assert(error.getMessage.contains(part)))
      assert(counts.barrierTasks == 1)
    }
    assertNothingIsAlive()
  }
}
