package org.apache.spark.sql.bloomery

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.vectorized.ColumnarBatch

import scala.annotation.tailrec

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
  def of(plan: SparkPlan): Either[String, ColumnarScan] = below(plan, plan.output.map(column => column -> column))

  /** `columns` are the DataFrame's, each with what it is of the output of `plan`. */
  @tailrec
  private def below(plan: SparkPlan, columns: Seq[(Attribute, Expression)]): Either[String, ColumnarScan] =
    plan match {
      case stage: WholeStageCodegenExec => below(stage.child, columns)
      case input: InputAdapter => below(input.child, columns)
      case ProjectExec(shown, child) =>
        below(child, columns.map { case (column, found) => column -> through(shown, found) })
      case ColumnarToRowExec(InputAdapter(source)) => of(source, columns)
      case ColumnarToRowExec(source) => of(source, columns)
      // Stages below a cache are its own; steps to make rows are not planned yet.
      case adaptive: AdaptiveSparkPlanExec => below(adaptive.initialPlan, columns)
      case cached: InMemoryTableScanExec if cached.supportsColumnar => of(cached, columns)
      case _: FilterExec => Left("its rows are filtered")
      case other => Left(s"Spark makes its rows one by one (${other.nodeName.trim})")
    }

  private def of(source: SparkPlan, columns: Seq[(Attribute, Expression)]): Either[String, ColumnarScan] = {
    val places = source.output.map(_.exprId).zipWithIndex.toMap
    val ordinals = columns.map {
      case (_, attribute: AttributeReference) if places.contains(attribute.exprId) => Right(places(attribute.exprId))
      case (column, _) => Left(s"column ${column.name} is computed")
    }
    ordinals.collectFirst { case Left(why) => why }.toLeft {
      ColumnarScan(source, ordinals.collect { case Right(ordinal) => ordinal })
    }
  }

  /** What an expression is of the input of a projection. */
  private def through(shown: Seq[NamedExpression], found: Expression): Expression = {
    val sources = shown.collect {
      case alias: Alias => alias.exprId -> alias.child
      case attribute: AttributeReference => attribute.exprId -> attribute
    }.toMap[ExprId, Expression]
    found
      .transformUp { case attribute: AttributeReference => sources.getOrElse(attribute.exprId, attribute) }
      .transformUp {
        // A file's metadata are columns of the scan that a struct was made of.
        case KnownNotNull(child) => child
        case GetStructField(struct: CreateNamedStruct, ordinal, _) => struct.valExprs(ordinal)
      }
  }
}
