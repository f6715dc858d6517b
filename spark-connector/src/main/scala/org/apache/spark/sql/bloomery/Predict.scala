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
    keepsFeatures: Boolean,
    spec: PredictSpec,
    child: LogicalPlan)
    extends UnaryNode {

  def predictions: Seq[Attribute] = (prediction ++ probability ++ rawPrediction).toSeq

  override def output: Seq[Attribute] = Predict.kept(child.output, features, keepsFeatures) ++ predictions

  override def producedAttributes: AttributeSet = AttributeSet(predictions)

  override protected def withNewChildInternal(newChild: LogicalPlan): Predict = copy(child = newChild)
}

private[bloomery] object Predict {

  /** The child's columns that go on: features that nobody else asks for are not carried along. */
  def kept(columns: Seq[Attribute], features: Attribute, keepsFeatures: Boolean): Seq[Attribute] =
    if (keepsFeatures) columns else columns.filter(_.exprId != features.exprId)
}
