package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.c.{ArrowArray, ArrowSchema, CDataDictionaryProvider, Data}
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class ArrowExportTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[1]"

  /** Exports all rows and imports them again, a text per row. */
  private def roundTrip(schema: StructType, rows: Iterator[InternalRow], rowsPerBatch: Int): Seq[String] =
    Using.resource(ArrowMemory.child("test")) { allocator =>
      val batches = new ArrowExport(schema.zipWithIndex, rowsPerBatch, allocator)
      Iterator
        .continually(rows)
        .takeWhile(_.hasNext)
        .flatMap { rows =>
          batches.withSchema { schemaAddress =>
            batches.withBatch(rows) { (arrayAddress, count) =>
              assert(count > 0 && count <= rowsPerBatch)
              Using.resource(new CDataDictionaryProvider) { dictionaries =>
                Using.resource(
                  Data.importVectorSchemaRoot(
                    allocator,
                    ArrowArray.wrap(arrayAddress),
                    ArrowSchema.wrap(schemaAddress),
                    dictionaries)) { root =>
                  (0 until count).map { row =>
                    root.getFieldVectors.asScala.map(vector => text(vector.getObject(row))).mkString(" ")
                  }
                }
              }
            }
          }
        }
        .toList
    }

  private def text(value: Any): String = value match {
    case bytes: Array[Byte] => bytes.mkString("#", "-", "")
    case other => String.valueOf(other)
  }

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
