package org.apache.spark.bloomery

import scala.reflect.ClassTag

import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike}

/** Whether rows come in the same order when Spark computes them again, as its plan tells. No job runs to find out. */
private[bloomery] object RowOrder {

  /** `rdd` is asked for only where no stage has to run before it. */
  def isPromised(plan: SparkPlan, rdd: => RDD[_]): Boolean =
    !has[ShuffleExchangeLike](plan) &&
      (has[Exchange](plan) || rdd.outputDeterministicLevel == DeterministicLevel.DETERMINATE)

  /** Whether the plan has such a step; also below what was cached, which is made when it is first asked for. */
  def has[T: ClassTag](plan: SparkPlan): Boolean = planned(plan).exists {
    case _: T => true
    case cached: InMemoryTableScanExec => has[T](cached.relation.cachedPlan)
    case _ => false
  }

  def planned(plan: SparkPlan): SparkPlan = plan match {
    case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
    case other => other
  }
}
