package io.bloomery.optim

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{DoubleNode, ObjectNode}
import io.bloomery.engine.Json
import io.bloomery.network.Setting
import io.bloomery.network.Setting.{Default, Value}

import scala.language.implicitConversions

/**
 * How an optimizer's learning rate changes: `Adam(learningRate = CosineDecay(0.01, decayEpochs = 30))`.
 * A length is given in steps, which are updates of the weights, or in epochs.
 */
sealed abstract class Schedule extends Product with Serializable {
  private[optim] def json: JsonNode

  /** The same after a straight line up to its first rate; its own steps count from there. */
  final def withWarmup(
      steps: Setting[Int] = Default,
      epochs: Setting[Double] = Default,
      startRate: Setting[Double] = Default): Schedule = Warmup(this, steps, epochs, startRate)
}

object Schedule {
  implicit def fromNumber(rate: Double): Setting[Schedule] = Value(Fixed(rate))
}

/** A schedule with a kind and options of its own. */
sealed abstract class NamedSchedule(kind: String) extends Schedule {
  protected def options: Seq[(String, Any)]

  override private[optim] def json: ObjectNode = Json.obj(("kind" -> kind) +: options: _*)
}

private final case class Fixed(rate: Double) extends Schedule {
  override private[optim] def json: JsonNode = DoubleNode.valueOf(rate)
}

private final case class Warmup(
    schedule: Schedule,
    steps: Setting[Int],
    epochs: Setting[Double],
    startRate: Setting[Double])
    extends Schedule {
  override private[optim] def json: JsonNode = {
    val options = Json.obj(
      "warmupSteps" -> steps.toOption,
      "warmupEpochs" -> epochs.toOption,
      "warmupStartRate" -> startRate.toOption)
    schedule.json match {
      case node: ObjectNode => node.setAll[ObjectNode](options)
      case rate => Json.obj("kind" -> "constant", "initialLearningRate" -> rate).setAll[ObjectNode](options)
    }
  }
}

/** One rate for all steps, which a number says as well; `withWarmup` makes it worth a name. */
final case class Constant(initialLearningRate: Setting[Double] = Default)
    extends NamedSchedule("constant") {
  override protected def options: Seq[(String, Any)] =
    Seq("initialLearningRate" -> initialLearningRate.toOption)
}

/** Multiplied by `factor` every so many epochs or steps. */
final case class StepDecay(
    initialLearningRate: Setting[Double] = Default,
    everyEpochs: Setting[Double] = Default,
    everySteps: Setting[Int] = Default,
    factor: Setting[Double] = Default)
    extends NamedSchedule("step") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialLearningRate" -> initialLearningRate.toOption,
    "everyEpochs" -> everyEpochs.toOption,
    "everySteps" -> everySteps.toOption,
    "factor" -> factor.toOption)
}

final case class ExponentialDecay(
    initialLearningRate: Setting[Double] = Default,
    decaySteps: Setting[Int] = Default,
    decayRate: Setting[Double] = Default,
    staircase: Setting[Boolean] = Default,
    decayEpochs: Setting[Double] = Default)
    extends NamedSchedule("exponential") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialLearningRate" -> initialLearningRate.toOption,
    "decaySteps" -> decaySteps.toOption,
    "decayEpochs" -> decayEpochs.toOption,
    "decayRate" -> decayRate.toOption,
    "staircase" -> staircase.toOption)
}

final case class PolynomialDecay(
    initialLearningRate: Setting[Double] = Default,
    decaySteps: Setting[Int] = Default,
    endLearningRate: Setting[Double] = Default,
    power: Setting[Double] = Default,
    cycle: Setting[Boolean] = Default,
    decayEpochs: Setting[Double] = Default)
    extends NamedSchedule("polynomial") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialLearningRate" -> initialLearningRate.toOption,
    "decaySteps" -> decaySteps.toOption,
    "decayEpochs" -> decayEpochs.toOption,
    "endLearningRate" -> endLearningRate.toOption,
    "power" -> power.toOption,
    "cycle" -> cycle.toOption)
}

final case class CosineDecay(
    initialLearningRate: Setting[Double] = Default,
    decaySteps: Setting[Int] = Default,
    alpha: Setting[Double] = Default,
    warmupTarget: Setting[Double] = Default,
    warmupSteps: Setting[Int] = Default,
    decayEpochs: Setting[Double] = Default)
    extends NamedSchedule("cosine") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialLearningRate" -> initialLearningRate.toOption,
    "decaySteps" -> decaySteps.toOption,
    "decayEpochs" -> decayEpochs.toOption,
    "alpha" -> alpha.toOption,
    "warmupTarget" -> warmupTarget.toOption,
    "warmupSteps" -> warmupSteps.toOption)
}

final case class CosineDecayRestarts(
    initialLearningRate: Setting[Double] = Default,
    firstDecaySteps: Setting[Int] = Default,
    tMul: Setting[Double] = Default,
    mMul: Setting[Double] = Default,
    alpha: Setting[Double] = Default,
    firstDecayEpochs: Setting[Double] = Default)
    extends NamedSchedule("cosine_restarts") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialLearningRate" -> initialLearningRate.toOption,
    "firstDecaySteps" -> firstDecaySteps.toOption,
    "firstDecayEpochs" -> firstDecayEpochs.toOption,
    "tMul" -> tMul.toOption,
    "mMul" -> mMul.toOption,
    "alpha" -> alpha.toOption)
}

/** values(i) up to and including boundaries(i), steps from 0, or boundaryEpochs(i), epochs from 1. */
final case class PiecewiseConstantDecay(
    boundaries: Setting[Seq[Int]] = Default,
    values: Seq[Double],
    boundaryEpochs: Setting[Seq[Int]] = Default)
    extends NamedSchedule("piecewise") {
  override protected def options: Seq[(String, Any)] = Seq(
    "boundaries" -> boundaries.toOption,
    "boundaryEpochs" -> boundaryEpochs.toOption,
    "values" -> values)
}

/** PyTorch's OneCycleLR: up to the maximum, then down far below the start. */
final case class OneCycle(
    maxLearningRate: Setting[Double] = Default,
    totalSteps: Setting[Int] = Default,
    totalEpochs: Setting[Double] = Default,
    pctStart: Setting[Double] = Default,
    annealStrategy: Setting[String] = Default,
    divFactor: Setting[Double] = Default,
    finalDivFactor: Setting[Double] = Default)
    extends NamedSchedule("one_cycle") {
  override protected def options: Seq[(String, Any)] = Seq(
    "maxLearningRate" -> maxLearningRate.toOption,
    "totalSteps" -> totalSteps.toOption,
    "totalEpochs" -> totalEpochs.toOption,
    "pctStart" -> pctStart.toOption,
    "annealStrategy" -> annealStrategy.toOption,
    "divFactor" -> divFactor.toOption,
    "finalDivFactor" -> finalDivFactor.toOption)
}

/** Multiplied by `factor` when the loss has not fallen for `patience` epochs. */
final case class ReduceOnPlateau(
    initialLearningRate: Setting[Double] = Default,
    monitor: Setting[String] = Default,
    factor: Setting[Double] = Default,
    patience: Setting[Int] = Default,
    minDelta: Setting[Double] = Default,
    cooldown: Setting[Int] = Default,
    minLearningRate: Setting[Double] = Default)
    extends NamedSchedule("reduce_on_plateau") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialLearningRate" -> initialLearningRate.toOption,
    "monitor" -> monitor.toOption,
    "factor" -> factor.toOption,
    "patience" -> patience.toOption,
    "minDelta" -> minDelta.toOption,
    "cooldown" -> cooldown.toOption,
    "minLearningRate" -> minLearningRate.toOption)
}
