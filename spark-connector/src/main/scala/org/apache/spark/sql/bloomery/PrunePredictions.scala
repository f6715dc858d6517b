package org.apache.spark.sql.bloomery

import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Makes no prediction that nobody asks for, and none for rows that a filter drops anyway; carries no
 * features along that only the prediction needs.
 */
private[bloomery] object PrunePredictions extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case Project(list, predict: Predict) =>
      Project(list, prune(predict, AttributeSet(list.flatMap(_.references))))
    case Filter(condition, predict: Predict)
        if condition.deterministic && condition.references.subsetOf(predict.child.outputSet) =>
      predict.copy(child = Filter(condition, predict.child))
    case Project(list, Filter(condition, predict: Predict)) =>
      val needed = AttributeSet(list.flatMap(_.references)) ++ condition.references
      Project(list, Filter(condition, prune(predict, needed)))
  }

  private def prune(predict: Predict, needed: AttributeSet): LogicalPlan = {
    val pruned = predict
      .only(needed.contains(_))
      .copy(keepsFeatures = predict.keepsFeatures && needed.contains(predict.features))
    if (pruned.predictions.isEmpty) predict.child else pruned
  }
}
