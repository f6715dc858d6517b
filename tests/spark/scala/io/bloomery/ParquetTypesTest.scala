package io.bloomery

import io.bloomery.network._
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.expr
import org.scalatest.funsuite.AnyFunSuite

/** Every type of column that the engine reads from Parquet files: what it gets is what Spark would give it. */
class ParquetTypesTest extends AnyFunSuite with InputPaths {

  /** One file, so that rows come in the same order on both ways; small whole numbers stay such in any type. */
  private def data: DataFrame =
    Tiny
      .data(spark, partitions = 1)
      .withColumn("n", expr("transform(features, x -> abs(cast(x * 99 as int)))"))
      .withColumn("kind", expr("element_at(array('zero', 'one', 'two'), label + 1)"))

  private def arrays(features: String): DataFrame = data.withColumn("features", expr(features))

  private def of(names: String*): NeuralNetClassifier = classifierOf(Input(4)).setFeaturesCols(names.toArray)

  private def withConf[T](settings: (String, String)*)(body: => T): T = {
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally settings.foreach { case (key, _) => spark.conf.unset(key) }
  }

  private val Timestamps = "spark.sql.parquet.outputTimestampType"

  private def assertSame(name: String, files: DataFrame, of: NeuralNetClassifier, tolerance: Double = 0): Unit =
    withClue(name) {
      val byEngine = fit(files, "parquet", of)
      val bySpark = fit(files, "rows", of)
      assert(byEngine.summary.input.startsWith("parquet: 600 rows in "))
      assert(weights(byEngine).forall(weight => !weight.isNaN))
      assert(distance(byEngine, bySpark) <= tolerance)
      // Something was learnt, so that another value would show.
      assert(distance(byEngine, fit(files, "rows", of.copy(ParamMap.empty).setSeed(8))) > 1e-3)
    }

  test("values of every type are those of Spark's reader, bit for bit") {
    val array = classifierOf(Input(4))
    Seq(
      "transform(n, x -> date_add(date'1970-01-01', x))",
      "transform(n, x -> cast(timestamp_micros(x * 100003) as timestamp_ntz))",
      "cast(features as array<decimal(9,3)>)",
      "cast(features as array<decimal(18,6)>)",
      "transform(features, x -> cast(x as decimal(38,19)))",
      "transform(features, x -> x > 0.5)",
      "array(slice(features, 1, 2), slice(features, 3, 2))",
      "array(array(slice(features, 1, 2)), array(slice(features, 3, 2)))",
      "array(transform(slice(n, 1, 2), x -> cast(x as decimal(5,1))), slice(n, 3, 2))").foreach { features =>
      assertSame(features, read(write(arrays(features))), array)
    }
    Seq("TIMESTAMP_MICROS", "TIMESTAMP_MILLIS").foreach { kind =>
      val files =
        withConf(Timestamps -> kind)(read(write(arrays("transform(n, x -> timestamp_millis(x * 1003 - 30000))"))))
      assertSame(kind, files, array)
    }
    assertNothingIsAlive()
  }

  test("columns of every type beside each other") {
    val columns = data.selectExpr(
      "label",
      "cast(features[0] as decimal(9,4)) as a",
      "n[1] > 50 as b",
      "if(id % 9 = 0, null, date_add(date'1969-12-01', n[2])) as c",
      "cast(timestamp_millis(n[3] * 1000) as timestamp_ntz) as d",
      "cast(id % 3 + 1 as decimal(20,1)) as w")
    val zero = """{"column": "c", "nulls": "zero"}"""
    assertSame("scalars", read(write(columns)), of("a", "b", zero, "d").setWeightCol("w"))
    assertNothingIsAlive()
  }

  test("texts, in dictionaries or not, alone or in arrays, learnt or given") {
    val words = data.selectExpr(
      "kind",
      "if(id % 7 = 0, null, concat('w', id % 5)) as word",
      "concat('unique', id * 7919) as unlike",
      "transform(sequence(0, id % 4), i -> concat('w', i * id % 6)) as tokens")
    val vocabulary = """["w0", "w1", "w2"], "outOfVocabulary": "last""""
    val word = s"""{"column": "word", "nulls": "zero", "vocabulary": $vocabulary}"""
    val unlike = """{"column": "unlike", "hashBuckets": 9}"""
    val tokens =
      s"""{"column": "tokens", "size": 2, "padding": "post", "truncating": "pre", "vocabulary": $vocabulary}"""
    def labelled(names: String*): NeuralNetClassifier =
      of(names: _*).setLabelCol("kind").setLabelVocabulary(Array("zero", "one", "two"))
    val files = read(write(words))
    assertSame("given", files, labelled(word, unlike, tokens))
    assertNothingIsAlive()
  }

  test("folders give dates and texts, too") {
    val files = read(write(data.withColumn("day", expr("date_add(date'1970-01-01', n[0] % 4)")), "day"))
    val numbers = classifierOf(Input(5)).setFeaturesCols(Array("day", "features"))
    assertSame("dates", files, numbers, 1e-4)
  }

  test("Spark's images come as their bytes") {
    val image =
      "named_struct('origin', kind, 'height', 2, 'width', 2, 'nChannels', 1, 'mode', 0, 'data', bytes)"
    val images = data
      .withColumn("bytes", expr("cast(lpad(cast(id as string), 4, '0') as binary)"))
      .withColumn("features", expr(image))
    val classifier = classifierOf(Input((2, 2, 1), dtype = "uint8", scale = 1.0 / 255), Flatten())
    assertSame("images", read(write(images.select("features", "label"))), classifier)
    assertNothingIsAlive()
  }

  test("what Spark would not give out as it stands in the file is read by Spark") {
    val moments = arrays("transform(n, x -> timestamp_seconds(x))")
    val days = arrays("transform(n, x -> date_add(date'1970-01-01', x))")
    Seq(
      "column features is not ARRAY<TIMESTAMP> in every file, file" ->
        withConf(Timestamps -> "INT96")(write(moments)),
      "column features may be of the old calendar, file" ->
        withConf(Timestamps -> "TIMESTAMP_MICROS", "spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY")(
          write(moments)),
      "column features may be of the old calendar, file" ->
        withConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY")(write(days))).foreach {
      case (why, folder) =>
        assert(fit(read(folder), "auto", classifierOf(Input(4))).summary.input.contains(why))
    }
  }
}
