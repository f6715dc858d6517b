package org.apache.spark.sql.bloomery

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A plan of which only the last steps work on rows, and these do nothing but choose columns: what `source` gives,
 * batch by batch, are the rows of the DataFrame. `ordinals` are the places of its columns there.
 */
private[spark] final case class ColumnarScan(source: SparkPlan, ordinals: Seq[Int]) {

  /** Batches whose memory is used again for the next one. */
  def rdd: RDD[ColumnarBatch] = source.executeColumnar()
}

private[spark] object ColumnarScan {

  /** Of Spark's plan for the DataFrame, or why its rows have to be made. */
  def of(data: classic.Dataset[Row]): Either[String, ColumnarScan] = of(data.queryExecution.executedPlan)

  /** Of a plan with its steps to make rows. */
  def of(plan: SparkPlan): Either[String, ColumnarScan] = CarriedColumns.of(plan)(_ => false).flatMap { found =>
    val places = found.source.output.map(_.exprId).zipWithIndex.toMap
    val ordinals = found.columns.map {
      case (_, attribute: AttributeReference) if places.contains(attribute.exprId) => Right(places(attribute.exprId))
      case (column, _) => Left(s"column ${column.name} is computed")
    }
    ordinals.collectFirst { case Left(why) => why }.toLeft {
      ColumnarScan(found.source, ordinals.collect { case Right(ordinal) => ordinal })
    }
  }
}
