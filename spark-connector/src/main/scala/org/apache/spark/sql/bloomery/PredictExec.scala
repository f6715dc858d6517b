package org.apache.spark.sql.bloomery

import org.apache.spark.bloomery.PredictSpec
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.StructField

/** Plans `Predict`; appended to a session's strategies the first time a model transforms there. */
private[bloomery] object PredictStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Predict(features, prediction, probability, rawPrediction, spec, child) =>
      Seq(PredictExec(features, prediction, probability, rawPrediction, spec, planLater(child)))
    case _ => Nil
  }
}

/** Predicts its child's rows a batch at a time, inside the child's own stage. */
private[bloomery] final case class PredictExec(
    features: Attribute,
    prediction: Option[Attribute],
    probability: Option[Attribute],
    rawPrediction: Option[Attribute],
    spec: PredictSpec,
    child: SparkPlan)
    extends UnaryExecNode {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "predictTime" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time in the engine"))

  override def output: Seq[Attribute] = child.output ++ predictions
  override def producedAttributes: AttributeSet = AttributeSet(predictions)
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = {
    val spec = this.spec
    val wanted = PredictOutputs(prediction.isDefined, probability.isDefined, rawPrediction.isDefined)
    val field = StructField(features.name, features.dataType)
    val ordinal = child.output.indexWhere(_.exprId == features.exprId)
    val attributes = output
    val (numRows, predictTime) = (longMetric("numOutputRows"), longMetric("predictTime"))
    child.execute().mapPartitionsWithIndex { (partition, rows) =>
      val toUnsafe = UnsafeProjection.create(attributes, attributes)
      new PredictIterator(spec, wanted, field, ordinal, partition, rows, predictTime).map { row =>
        numRows += 1
        toUnsafe(row)
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PredictExec = copy(child = newChild)

  private def predictions: Seq[Attribute] = (prediction ++ probability ++ rawPrediction).toSeq
}
