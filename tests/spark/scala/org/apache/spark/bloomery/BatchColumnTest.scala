package org.apache.spark.bloomery

import org.apache.spark.ml.linalg.{Vector, Vectors}
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.bloomery.ColumnarScan
import org.apache.spark.sql.execution.vectorized.{ConstantColumnVector, OffHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.scalatest.funsuite.AnyFunSuite

/** Columnar batches of every kind give what the rows that Spark makes of them give. */
class BatchColumnTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[2]"

  /** Batches that are smaller than the files, so that their memory is used again. */
  override def settings: Map[String, String] = Map(
    "spark.sql.parquet.columnarReaderBatchSize" -> "512",
    "spark.sql.orc.columnarReaderBatchSize" -> "512",
    "spark.sql.inMemoryColumnarStorage.batchSize" -> "512")

  private val OffHeap = "spark.sql.columnVector.offheap.enabled"

  private val toVector = udf { (id: Long) =>
    if (id % 17 == 0) Option.empty[Vector]
    else if (id % 2 == 0) Some(Vectors.dense(id.toDouble, (id % 3).toDouble, 0))
    else Some(Vectors.sparse(9, Array((id % 9).toInt), Array(id.toDouble)))
  }

  private def scalars: DataFrame = spark.range(0, 3000, 1, 2).selectExpr(
    "id",
    "id % 7 as few",
    "id % 3 = 0 as flag",
    "if(id % 4 = 0, null, id % 3 = 0) as flag_or_none",
    "cast(id % 100 as tinyint) as b",
    "cast(id % 1000 as smallint) as s",
    "cast(id * 7919 as int) as i",
    "if(id % 5 = 0, null, cast(id % 9 as int)) as i_or_none",
    "if(id < 1000, null, id % 11) as late",
    "cast(id % 31 as float) / 2 as f",
    "if(id % 6 = 0, null, cast(id % 13 as double) / 4) as d_or_none",
    "cast(null as float) as nothing")

  private def all: DataFrame = scalars.withColumn("v", toVector(col("id"))).selectExpr(
    "*",
    "date_add(date'1900-01-01', cast(id as int)) as day",
    "timestamp_micros(id * 1000001 - 5000000000) as moment",
    "cast(timestamp_micros(id * 999) as timestamp_ntz) as clock",
    "if(id % 8 = 0, null, concat('w', id % 5)) as word",
    "repeat(string(id), cast(id % 4 as int)) as unlike",
    "if(id % 9 = 0, null, cast(concat('b', id % 3) as binary)) as bytes",
    "cast(string(id) as binary) as more_bytes",
    "array(float(id), float(id % 3), float(1)) as floats",
    "if(id % 10 = 0, null, slice(sequence(1, 9), 1, cast(id % 5 as int))) as ints",
    "transform(sequence(0, id % 3), i -> if((id + i) % 4 = 0, null, cast(i as smallint))) as gaps",
    "array(id % 2 = 0, true, id % 3 = 0) as flags",
    "transform(sequence(0, 1), i -> date_add(date'2020-01-01', cast(id % 9 + i as int))) as days",
    "transform(sequence(0, id % 3), i -> concat('t', i * id % 4)) as tokens",
    "if(id % 12 = 0, null, transform(sequence(0, id % 3), i -> sequence(i, i + id % 2))) as nested",
    "named_struct('origin', 'o', 'height', 1, 'width', 2, 'nChannels', 1, 'mode', 0, 'data', cast('ab' as binary)) as im")

  private def withConf[T](key: String, value: String)(body: => T): T = {
    spark.conf.set(key, value)
    try body
    finally spark.conf.unset(key)
  }

  private def scanOf(data: DataFrame): ColumnarScan =
    ColumnarScan.of(data.asInstanceOf[classic.Dataset[Row]]).fold(why => fail(why), identity)

  /** Something about each column in any batch. */
  private def seen(data: DataFrame)(what: ColumnVector => Boolean): Set[String] = {
    val scan = scanOf(data)
    val found = scan.rdd.map((batch: ColumnarBatch) => scan.ordinals.map(i => what(batch.column(i)))).collect()
    data.columns.indices.filter(i => found.exists(_(i))).map(data.columns(_)).toSet
  }

  private def assertSame(data: DataFrame, rowsPerSlice: Int = 200): Unit = {
    val schema = data.schema
    val scan = scanOf(data)
    val ordinals = scan.ordinals
    val rows = data.asInstanceOf[classic.Dataset[Row]].queryExecution.toRdd
      .mapPartitions(ExportedTexts.ofRows(schema, _, 777).iterator).collect().toSeq
    val batches = scan.rdd.mapPartitions(ExportedTexts.ofBatches(schema, ordinals, _, rowsPerSlice).iterator)
      .collect().toSeq
    assert(rows.size == 3000)
    rows.zip(batches).foreach { case (row, batch) => assert(row == batch) }
    assert(batches.size == 3000)
    assert(ArrowMemory.allocatedBytes == 0)
  }

  private def parquet(data: DataFrame, dictionary: Boolean, partitionBy: String*): DataFrame = {
    val folder = temporary("columnar").resolve("data").toString
    data.write.partitionBy(partitionBy: _*).option("parquet.enable.dictionary", dictionary).parquet(folder)
    spark.read.parquet(folder)
  }

  test("Parquet files, in dictionaries or not, on the heap or beside it") {
    Seq(true, false).foreach { dictionary =>
      val written = parquet(all, dictionary)
      Seq("true", "false").foreach { offHeap =>
        withConf(OffHeap, offHeap) {
          // A plan of its own: settings hold from then on.
          val files = written.select("*")
          withClue(s"dictionary $dictionary, off heap $offHeap: ") {
            val encoded = seen(files) { case w: WritableColumnVector => w.hasDictionary; case _ => false }
            if (dictionary) assert(Set("few", "b", "f", "word", "bytes").subsetOf(encoded)) else assert(encoded.isEmpty)
            val encodedElements = seen(files.select("floats", "ints", "tokens")) {
              case w: WritableColumnVector => w.getChild(0).hasDictionary
              case _ => false
            }
            assert(encodedElements.nonEmpty == dictionary)
            assert(seen(files)(_.isInstanceOf[OffHeapColumnVector]).nonEmpty == (offHeap == "true"))
            assertSame(files)
          }
        }
      }
    }
  }

  test("columns of folders, in another order and under other names") {
    val files = parquet(all, dictionary = true, "few", "flag")
    val chosen = files.selectExpr("floats as x", "flag as y", "few", "word as few_words")
    assert(seen(chosen)(_.isInstanceOf[ConstantColumnVector]) == Set("y", "few"))
    assertSame(chosen, 3)
  }

  test("files of which some lack a column") {
    val folder = temporary("columnar").resolve("data").toString
    all.where("id < 1500").write.parquet(s"$folder/part=1")
    all.where("id >= 1500").drop("i", "floats", "word").write.parquet(s"$folder/part=2")
    assertSame(spark.read.option("mergeSchema", "true").parquet(folder))
  }

  test("ORC files") {
    val folder = temporary("columnar").resolve("data").toString
    // They do not keep the type of ML vectors.
    all.drop("v").write.partitionBy("few").orc(folder)
    assertSame(spark.read.orc(folder))
  }

  test("cached columns, and what comes out of a shuffle before") {
    Seq(scalars, scalars.repartition(3, col("few"))).foreach { data =>
      val cached = data.persist()
      try {
        assertSame(cached)
        assertSame(cached.select("few", "d_or_none"))
      } finally cached.unpersist()
    }
  }

  test("several scans together") {
    val halves = Seq("id < 1500", "id >= 1500").map(half => parquet(all.where(half), dictionary = true))
    assertSame(halves(0).select("id", "floats").union(halves(1).select("id", "floats")))
  }

  test("plans that compute, filter or move rows are told apart") {
    val files = parquet(scalars, dictionary = true)
    def refusal(data: DataFrame): String =
      ColumnarScan.of(data.asInstanceOf[classic.Dataset[Row]]).fold(identity, _ => fail("taken"))
    assert(refusal(files.where("id > 5")) == "its rows are filtered")
    assert(refusal(files.selectExpr("id + 1 as next")) == "column next is computed")
    assert(refusal(files.sample(0.5)) == "Spark makes its rows one by one (Sample)")
    assert(refusal(spark.range(5).toDF()) == "Spark makes its rows one by one (Range)")
    assert(refusal(files.repartition(2)).startsWith("Spark makes its rows one by one ("))
    withConf("spark.sql.parquet.enableVectorizedReader", "false") {
      assert(refusal(files).startsWith("Spark makes its rows one by one (Scan parquet"))
    }
  }
}
