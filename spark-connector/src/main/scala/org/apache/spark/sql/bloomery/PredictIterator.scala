package org.apache.spark.sql.bloomery

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import org.apache.arrow.memory.ArrowBuf
import org.apache.spark.TaskContext
import org.apache.spark.bloomery.{ArrowExport, ArrowMemory, PredictorCache, PredictSpec}
import org.apache.spark.ml.linalg.{Vectors, VectorUDT}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.StructField

/** Which predictions the plan asks for. */
private[bloomery] final case class PredictOutputs(
    prediction: Boolean,
    probability: Boolean,
    rawPrediction: Boolean)

/**
 * The rows of one partition with their predictions behind them. Lives on the task thread; the
 * shared predictor and the Arrow memory go back when the task ends, however it ends.
 */
private[bloomery] final class PredictIterator(
    spec: PredictSpec,
    wanted: PredictOutputs,
    features: StructField,
    ordinal: Int,
    partition: Int,
    rows: Iterator[InternalRow],
    predictTime: SQLMetric)
    extends Iterator[InternalRow] {

  private val context = TaskContext.get()
  private val allocator = ArrowMemory.child(s"predict-${context.taskAttemptId()}-$partition")
  context.addTaskCompletionListener[Unit](_ => allocator.close())
  private lazy val predictor = {
    val acquired = PredictorCache.acquire(spec)
    context.addTaskCompletionListener[Unit](_ => PredictorCache.release(spec))
    acquired
  }
  private val batches = new ArrowExport(
    Seq(features -> ordinal),
    math.min(PredictIterator.MaxRows, ArrowExport.rowsPerBatch(spec.rowBytes)),
    allocator)
  private val vectors = new VectorUDT
  private var batch: Iterator[InternalRow] = Iterator.empty
  private var firstRow = 0L

  override def hasNext: Boolean = batch.hasNext || rows.hasNext

  override def next(): InternalRow = {
    if (!batch.hasNext) batch = predictNext()
    batch.next()
  }

  private def predictNext(): Iterator[InternalRow] = {
    val kept = new ArrayBuffer[InternalRow]
    // The child overwrites its row, but ours go out only after the whole batch has been read.
    val copied = rows.map { row =>
      kept += row.copy()
      kept.last
    }
    batches.withBatch(copied) { (array, count) =>
      val bytes = 4L * count * spec.classes
      Using.resources(allocator.buffer(bytes), allocator.buffer(bytes)) { (raw, probability) =>
        val started = System.nanoTime()
        batches.withSchema { schema =>
          predictor.predict(
            schema,
            array,
            partition,
            firstRow,
            raw.memoryAddress(),
            probability.memoryAddress())
        }
        predictTime += System.nanoTime() - started
        firstRow += count
        val joined = new JoinedRow
        Array
          .tabulate(count)(row => predictions(row, raw, probability))
          .iterator
          .zip(kept.iterator)
          .map { case (made, row) => joined(row, made) }
      }
    }
  }

  private def predictions(row: Int, raw: ArrowBuf, probability: ArrowBuf): InternalRow = {
    val probabilities = read(probability, row)
    val values = Seq.newBuilder[Any]
    if (wanted.prediction) values += probabilities.indices.maxBy(probabilities(_)).toDouble
    if (wanted.probability) values += vectors.serialize(Vectors.dense(probabilities))
    if (wanted.rawPrediction) values += vectors.serialize(Vectors.dense(read(raw, row)))
    new GenericInternalRow(values.result().toArray)
  }

  private def read(values: ArrowBuf, row: Int): Array[Double] =
    Array.tabulate(spec.classes)(i => values.getFloat(4L * (row.toLong * spec.classes + i)).toDouble)
}

private[bloomery] object PredictIterator {

  /** More would make the first rows of `show` wait. */
  private val MaxRows = 1024
}
