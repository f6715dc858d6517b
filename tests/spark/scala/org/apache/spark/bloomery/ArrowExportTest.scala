package org.apache.spark.bloomery

import scala.util.Using

import org.apache.spark.ml.linalg.{Vector, Vectors}
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class ArrowExportTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[1]"

  private def roundTrip(schema: StructType, rows: Iterator[InternalRow], rowsPerBatch: Int): Seq[String] =
    ExportedTexts.ofRows(schema, rows, rowsPerBatch).toSeq

  private def unsafe(data: DataFrame): Iterator[InternalRow] =
    data.asInstanceOf[classic.Dataset[Row]].queryExecution.toRdd.map(_.copy()).collect().iterator

  test("every type of column crosses as it is") {
    val data = spark.range(0, 5, 1, 1).selectExpr(
      "id % 2 = 0 as a",
      "cast(id - 2 as tinyint) as b",
      "cast(id - 2 as smallint) as c",
      "cast(id - 2 as int) as d",
      "id - 2 as e",
      "cast(id as float) / 2 as f",
      "cast(id as double) / 4 as g",
      "case when id = 3 then null else cast(repeat('x', cast(id as int)) as binary) end as h",
      "case when id = 2 then null else cast(id as int) end as i")
    assert(roundTrip(data.schema, unsafe(data), 2) == Seq(
      "true -2 -2 -2 -2 0.0 0.0 # 0",
      "false -1 -1 -1 -1 0.5 0.25 #120 1",
      "true 0 0 0 0 1.0 0.5 #120-120 null",
      "false 1 1 1 1 1.5 0.75 null 3",
      "true 2 2 2 2 2.0 1.0 #120-120-120-120 4"))
  }

  test("arrays of every number cross in bulk, with nulls, and from rows that are not Spark's own") {
    Seq("tinyint", "smallint", "int", "bigint", "float", "double").foreach { element =>
      // Lengths around the bytes of the validity bitmap, after one another in one batch.
      val data = spark
        .range(0, 40, 1, 1)
        .selectExpr(
          s"case when id = 7 then null else cast(sequence(1, id) as array<$element>) end as v",
          s"cast(array(id, null, 1) as array<$element>) as w")
      val expected = data.collect().toSeq.map { row =>
        (0 to 1).map { i =>
          if (row.isNullAt(i)) "null"
          else row.getSeq[Any](i).map(String.valueOf(_)).mkString("[", ",", "]")
        }.mkString(" ")
      }
      assert(roundTrip(data.schema, unsafe(data), 16) == expected)
    }
    val schema = StructType(Seq(StructField("v", ArrayType(FloatType)), StructField("b", BinaryType)))
    val row: InternalRow =
      new GenericInternalRow(Array[Any](new GenericArrayData(Array[Any](1.5f, null, 2.5f)), Array[Byte](7)))
    assert(roundTrip(schema, Iterator(row), 16) == Seq("[1.5,null,2.5] #7"))
  }

  test("texts, dates, timestamps, nested arrays, ML vectors and images cross as they are") {
    val data = spark
      .range(0, 3, 1, 1)
      .selectExpr(
        "case when id = 1 then null else repeat('\u00fc', cast(id as int)) end as text",
        "date_add(date'1970-01-01', cast(id as int)) as day",
        "timestamp_micros(id * 1000001) as moment",
        "case when id = 1 then null else transform(sequence(0, id), i -> concat('w', i)) end as words",
        "array(id = 0, true, cast(null as boolean)) as flags",
        "array(true, id = 0) as bits",
        "transform(sequence(0, 1), i -> array(cast(id as float), cast(i as float))) as nested",
        "named_struct('origin', 'o', 'height', 1, 'width', 2, 'nChannels', 1, 'mode', 0, " +
          "'data', cast('ab' as binary)) as image")
    val texts = roundTrip(data.schema, unsafe(data), 2)
    def row(text: String, day: Int, words: String, id: Int): Seq[String] =
      Seq(
        text,
        day.toString,
        words,
        s"[${if (id == 0) 1 else 0},1,null]",
        s"[1,${if (id == 0) 1 else 0}]",
        s"""[[$id.0,0.0],[$id.0,1.0]]""")
    val expected = Seq(
      row("", 0, """["w0"]""", 0),
      row("null", 1, "null", 1),
      row("\u00fc\u00fc", 2, """["w0","w1","w2"]""", 2))
    texts.zip(expected).foreach { case (found, parts) => parts.foreach(part => assert(found.contains(part))) }
    texts.foreach(found => assert(found.contains(""""height":1,"width":2,"nChannels":1""")))

    val vectors = spark.createDataFrame(
      Seq(Vectors.dense(1.5, -2), Vectors.sparse(3, Array(1), Array(4.0)), Option.empty[Vector].orNull)
        .map(Tuple1.apply)).toDF("v")
    assert(roundTrip(vectors.schema, unsafe(vectors), 2) == Seq(
      """{"type":1,"values":[1.5,-2.0]}""",
      """{"type":0,"size":3,"indices":[1],"values":[4.0]}""",
      "null"))
  }

  test("a struct that is no image stands for its fields") {
    val data = spark.range(0, 3, 1, 1).selectExpr("struct(id as a, cast(id as string) as b) as s", "id + 1 as c")
    assert(roundTrip(data.schema, unsafe(data), 2) == Seq("0 0 1", "1 1 2", "2 2 3"))
  }

  test("what the engine does not take is released") {
    Using.resource(ArrowMemory.child("test")) { allocator =>
      val schema = StructType(Seq(StructField("b", BinaryType)))
      val row: InternalRow = new GenericInternalRow(Array[Any](Array[Byte](1, 2)))
      val batches = new ArrowExport(schema.zipWithIndex, 4, allocator)
      intercept[IllegalStateException](batches.withBatch(Iterator(row))((_, _) => throw new IllegalStateException))
      intercept[IllegalStateException](batches.withSchema(_ => throw new IllegalStateException))
    }
    assert(ArrowMemory.allocatedBytes == 0)
  }

  test("a batch holds about two megabytes") {
    assert(ArrowExport.rowsPerBatch(784) == 2674)
    assert(ArrowExport.rowsPerBatch(4) == 16384)
    assert(ArrowExport.rowsPerBatch(100L << 20) == 1)
  }
}
