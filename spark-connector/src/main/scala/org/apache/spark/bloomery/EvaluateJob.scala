package org.apache.spark.bloomery

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.{InterruptibleIterator, TaskContext}
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.types.StructType

import io.bloomery.BloomeryException
import io.bloomery.engine.{Engine, NativeEvaluator}

/** Measures a model on rows with labels, in tasks of an ordinary job; only sums come to the driver. */
object EvaluateJob {

  /** What a task gives: its sums, or what was wrong with its rows, which Spark must not try again. */
  private type Measured = Either[Failure, Array[Double]]

  /** On the columns of `data`, which are the task's; by the names that an epoch of the history has. */
  def run(data: DataFrame, task: String, model: SharedModel, rowBytes: Long): Map[String, Double] = {
    Engine.describe(task)
    val classicData = data.asInstanceOf[classic.Dataset[Row]]
    val spec = model.spec(task, classicData.sparkSession.sparkContext)
    val (schema, rowsPerBatch) = (data.schema, ArrowExport.rowsPerBatch(rowBytes))
    val sums = SQLExecution.withNewExecutionId(classicData.queryExecution, Some("bloomery evaluate")) {
      classicData.queryExecution.toRdd
        .mapPartitionsWithIndex { (partition, rows) =>
          Iterator.single(measure(spec, schema, rowsPerBatch, partition, rows))
        }
        .treeAggregate[Measured](Right(Array.empty))(add, add)
    }
    Engine.measures(task, sums.fold(failure => throw failure.toThrowable, identity))
  }

  private def measure(
      spec: PredictSpec,
      schema: StructType,
      rowsPerBatch: Int,
      partition: Int,
      rows: Iterator[InternalRow]): Measured = {
    val context = TaskContext.get()
    val live = new InterruptibleIterator(context, rows)
    try
      Using.resource(ArrowMemory.child(s"evaluate-${context.taskAttemptId()}")) { allocator =>
        val batches = new ArrowExport(schema.zipWithIndex, rowsPerBatch, allocator)
        Using.resource(
          NativeEvaluator.open(PredictorCache.withThreads(spec.task, context.cpus()), spec.weights.value)) {
          evaluator =>
            var firstRow = 0L
            while (live.hasNext) {
              batches.withBatch(live) { (array, count) =>
                batches.withSchema(schema => evaluator.add(schema, array, partition, firstRow))
                firstRow += count
              }
            }
            Right(evaluator.sums())
        }
      }
    catch {
      case error: BloomeryException => Left(Failure(error))
      case NonFatal(error) => Left(Failure(FileFailure.inWords(error).getOrElse(throw error)))
    }
  }

  private def add(a: Measured, b: Measured): Measured = (a, b) match {
    case (Right(none), other) if none.isEmpty => other
    case (other, Right(none)) if none.isEmpty => other
    case (Right(one), Right(other)) => Right(Array.tabulate(one.length)(i => one(i) + other(i)))
    case (failed @ Left(_), _) => failed
    case (_, failed) => failed
  }
}
