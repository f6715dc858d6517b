package io.bloomery

import org.apache.spark.ml.param._

/** Params of when training ends before its last epoch, and of which epoch's weights are taken. */
trait StoppingParams extends Params {

  final val earlyStoppingPatience: IntParam = new IntParam(
    this,
    "earlyStoppingPatience",
    "epochs without a better value of monitor after which training stops")

  final val earlyStoppingMinDelta: DoubleParam = new DoubleParam(
    this,
    "earlyStoppingMinDelta",
    "by how much monitor has to be better than the best before to count as better")

  final val monitor: Param[String] = new Param[String](
    this,
    "monitor",
    "what early stopping and restoreBestWeights watch: loss, a metric, or one of them with validation_ before it")

  final val restoreBestWeights: BooleanParam = new BooleanParam(
    this,
    "restoreBestWeights",
    "whether the weights of the epoch with the best monitor are taken, instead of the last epoch's")

  setDefault(earlyStoppingMinDelta -> 0.0, restoreBestWeights -> false)

  final def getEarlyStoppingPatience: Int = $(earlyStoppingPatience)
  final def getEarlyStoppingMinDelta: Double = $(earlyStoppingMinDelta)
  final def getMonitor: String = $(monitor)
  final def getRestoreBestWeights: Boolean = $(restoreBestWeights)

  def setEarlyStoppingPatience(value: Int): this.type = set(earlyStoppingPatience, value)
  def setEarlyStoppingMinDelta(value: Double): this.type = set(earlyStoppingMinDelta, value)
  def setMonitor(value: String): this.type = set(monitor, value)
  def setRestoreBestWeights(value: Boolean): this.type = set(restoreBestWeights, value)

  /** As the engine's task has them. */
  private[bloomery] def stopping: Seq[(String, Any)] = Seq(
    "earlyStoppingPatience" -> get(earlyStoppingPatience),
    "earlyStoppingMinDelta" -> get(earlyStoppingMinDelta),
    "monitor" -> get(monitor),
    "restoreBestWeights" -> get(restoreBestWeights))
}
