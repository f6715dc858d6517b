package org.apache.spark.sql.bloomery

import org.apache.spark.{SparkRuntimeException, TaskContext}
import org.apache.spark.bloomery.{ArrowExport, ArrowMemory, PredictorCache, PredictSpec}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeRowJoiner
import org.apache.spark.sql.execution.metric.SQLMetric

import io.bloomery.UserError
import io.bloomery.engine.NativePredictor

/**
 * The rows of one partition with their predictions behind them, each valid until the next one. Lives
 * on the task thread; the shared predictor and the Arrow memory go back after the last row, or when
 * the task ends, however it ends.
 */
private[bloomery] final class PredictIterator(
    spec: PredictSpec,
    columns: PredictedColumns,
    featuresOrdinal: Int,
    partition: Int,
    batch: PredictBatch,
    numRows: SQLMetric,
    predictTime: SQLMetric)
    extends Iterator[InternalRow] {

  private val context = TaskContext.get()
  private val allocator = ArrowMemory.child(s"predict-${context.taskAttemptId()}-$partition")
  private var predictor = Option.empty[NativePredictor]
  private val outputs = new PredictOutputs(columns.made, spec.rowWidth, allocator)
  private var isClosed = false
  context.addTaskCompletionListener[Unit](_ => close())

  private val features =
    new ArrowExport(Seq(columns.featuresField -> featuresOrdinal), ArrowExport.rowsPerBatch(spec.rowBytes), allocator)
  private lazy val joiner = GenerateUnsafeRowJoiner.create(columns.keptSchema, columns.madeSchema)
  private var index = 0
  private var firstRow = 0L

  override def hasNext: Boolean = index < batch.numRows || (!isClosed && batch.hasMore) || {
    close()
    false
  }

  override def next(): InternalRow = {
    if (index == batch.numRows) predictNext()
    val predicted = outputs(index)
    val row = if (columns.kept.isEmpty) predicted else joiner.join(batch(index), predicted)
    index += 1
    numRows += 1
    row
  }

  private def predictNext(): Unit = {
    try
      batch.next(features) { (array, count) =>
        outputs.reserve(count)
        val started = System.nanoTime()
        features.withSchema { schema =>
          opened.predict(schema, array, partition, firstRow, outputs.raw, outputs.probability)
        }
        predictTime += System.nanoTime() - started
        firstRow += count
      }
    catch { case error: UserError => throw PredictIterator.forUser(error) }
    index = 0
  }

  private def opened: NativePredictor = predictor.getOrElse {
    val acquired = PredictorCache.acquire(spec, context.cpus())
    predictor = Some(acquired)
    acquired
  }

  private def close(): Unit = if (!isClosed) {
    isClosed = true
    predictor.foreach(_ => PredictorCache.release(spec, context.cpus()))
    try batch.close()
    finally {
      outputs.close()
      allocator.close()
    }
  }
}

private[bloomery] object PredictIterator {

  /**
   * As SQL's own raise_error throws: Spark then hands the sentence to the user as it is, in Python without the stacks of
   * driver and executor, where it would else say that a job was aborted.
   */
  private def forUser(error: UserError): SparkRuntimeException =
    new SparkRuntimeException(
      "USER_RAISED_EXCEPTION",
      Map("errorMessage" -> error.getMessage),
      error,
      Array.empty,
      "")
}
