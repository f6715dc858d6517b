package org.apache.spark.sql.bloomery

import org.apache.spark.bloomery.PredictSpec
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/**
 * Adds predictions, each of its kind, to the rows of its child; it reads the features alone, so others are pruned.
 * Attributes stand by themselves, because Catalyst looks for them only there.
 */
private[bloomery] final case class Predict(
    features: Attribute,
    predictions: Seq[Attribute],
    kinds: Seq[PredictionKind],
    keepsFeatures: Boolean,
    spec: PredictSpec,
    child: LogicalPlan)
    extends UnaryNode {

  /** With those predictions only that are wanted. */
  def only(wanted: Attribute => Boolean): Predict = {
    val (predictions, kinds) = this.predictions.zip(this.kinds).filter { case (made, _) => wanted(made) }.unzip
    copy(predictions = predictions, kinds = kinds)
  }

  override def output: Seq[Attribute] = Predict.kept(child.output, features, keepsFeatures) ++ predictions

  override def producedAttributes: AttributeSet = AttributeSet(predictions)

  override protected def withNewChildInternal(newChild: LogicalPlan): Predict = copy(child = newChild)
}

private[bloomery] object Predict {

  /** The child's columns that go on: features that nobody else asks for are not carried along. */
  def kept(columns: Seq[Attribute], features: Attribute, keepsFeatures: Boolean): Seq[Attribute] =
    if (keepsFeatures) columns else columns.filter(_.exprId != features.exprId)
}
