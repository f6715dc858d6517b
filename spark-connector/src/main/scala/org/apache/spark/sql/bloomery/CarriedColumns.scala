package org.apache.spark.sql.bloomery

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

import scala.annotation.tailrec

/** Below steps of a plan that keep rows in their order: where they come from, and what each column is of that. */
private[bloomery] final case class CarriedColumns(source: SparkPlan, columns: Seq[(Attribute, Expression)])

private[bloomery] object CarriedColumns {

  /** Below the choice of columns, and steps that `passes` takes, whose rows are some of those of their only child. */
  def of(plan: SparkPlan)(passes: SparkPlan => Boolean): Either[String, CarriedColumns] =
    below(plan, plan.output.map(column => column -> column), passes)

  /** `columns` are those of the whole plan, each with what it is of the output of `plan`. */
  @tailrec
  private def below(
      plan: SparkPlan,
      columns: Seq[(Attribute, Expression)],
      passes: SparkPlan => Boolean): Either[String, CarriedColumns] =
    plan match {
      case stage: WholeStageCodegenExec => below(stage.child, columns, passes)
      case input: InputAdapter => below(input.child, columns, passes)
      case ProjectExec(shown, child) =>
        below(child, columns.map { case (column, found) => column -> through(shown, found) }, passes)
      case ColumnarToRowExec(InputAdapter(source)) => Right(CarriedColumns(source, columns))
      case ColumnarToRowExec(source) => Right(CarriedColumns(source, columns))
      // Stages below a cache are its own; steps to make rows are not planned yet.
      case adaptive: AdaptiveSparkPlanExec => below(adaptive.initialPlan, columns, passes)
      case cached: InMemoryTableScanExec if cached.supportsColumnar => Right(CarriedColumns(cached, columns))
      case step: UnaryExecNode if passes(step) => below(step.child, columns, passes)
      case _: FilterExec => Left("its rows are filtered")
      case other => Left(s"Spark makes its rows one by one (${other.nodeName.trim})")
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
