package org.apache.spark.sql.bloomery

import org.apache.spark.bloomery.PredictSpec
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Adds predictions to the rows of its child; it reads the features alone, so others are pruned. */
private[bloomery] final case class Predict(
    features: Attribute,
    prediction: Option[Attribute],
    probability: Option[Attribute],
    rawPrediction: Option[Attribute],
    spec: PredictSpec,
    child: LogicalPlan)
    extends UnaryNode {

  def predictions: Seq[Attribute] = (prediction ++ probability ++ rawPrediction).toSeq

  override def output: Seq[Attribute] = child.output ++ predictions

  override def producedAttributes: AttributeSet = AttributeSet(predictions)

  override protected def withNewChildInternal(newChild: LogicalPlan): Predict = copy(child = newChild)
}
