package io.bloomery.optim

import io.bloomery.engine.Json
import io.bloomery.network.Setting
import io.bloomery.network.Setting.Default

/**
 * An optimizer as the training's JSON has it, with Keras's names: `Adam(learningRate = 0.01)`.
 * Nothing is checked here: the engine knows each kind, its options and their defaults.
 */
sealed abstract class Optimizer(kind: String) extends Product with Serializable {
  def learningRate: Setting[Schedule]
  def weightDecay: Setting[Double]
  protected def options: Seq[(String, Any)]

  def toJson: String =
    Json
      .obj(
        Seq("kind" -> kind, "learningRate" -> learningRate.toOption.map(_.json)) ++ options :+
          ("weightDecay" -> weightDecay.toOption): _*)
      .toString
}

/** Stochastic gradient descent, with momentum when it is given. */
final case class SGD(
    learningRate: Setting[Schedule] = Default,
    momentum: Setting[Double] = Default,
    nesterov: Setting[Boolean] = Default,
    weightDecay: Setting[Double] = Default)
    extends Optimizer("sgd") {
  override protected def options: Seq[(String, Any)] =
    Seq("momentum" -> momentum.toOption, "nesterov" -> nesterov.toOption)
}

final case class Adam(
    learningRate: Setting[Schedule] = Default,
    beta1: Setting[Double] = Default,
    beta2: Setting[Double] = Default,
    epsilon: Setting[Double] = Default,
    weightDecay: Setting[Double] = Default)
    extends Optimizer("adam") {
  override protected def options: Seq[(String, Any)] =
    Seq("beta1" -> beta1.toOption, "beta2" -> beta2.toOption, "epsilon" -> epsilon.toOption)
}

/** Adam with a weight decay from the start. */
final case class AdamW(
    learningRate: Setting[Schedule] = Default,
    weightDecay: Setting[Double] = Default,
    beta1: Setting[Double] = Default,
    beta2: Setting[Double] = Default,
    epsilon: Setting[Double] = Default)
    extends Optimizer("adamw") {
  override protected def options: Seq[(String, Any)] =
    Seq("beta1" -> beta1.toOption, "beta2" -> beta2.toOption, "epsilon" -> epsilon.toOption)
}

final case class Adadelta(
    learningRate: Setting[Schedule] = Default,
    rho: Setting[Double] = Default,
    epsilon: Setting[Double] = Default,
    weightDecay: Setting[Double] = Default)
    extends Optimizer("adadelta") {
  override protected def options: Seq[(String, Any)] =
    Seq("rho" -> rho.toOption, "epsilon" -> epsilon.toOption)
}

final case class Adagrad(
    learningRate: Setting[Schedule] = Default,
    initialAccumulatorValue: Setting[Double] = Default,
    epsilon: Setting[Double] = Default,
    weightDecay: Setting[Double] = Default)
    extends Optimizer("adagrad") {
  override protected def options: Seq[(String, Any)] = Seq(
    "initialAccumulatorValue" -> initialAccumulatorValue.toOption,
    "epsilon" -> epsilon.toOption)
}

final case class RMSprop(
    learningRate: Setting[Schedule] = Default,
    rho: Setting[Double] = Default,
    momentum: Setting[Double] = Default,
    epsilon: Setting[Double] = Default,
    centered: Setting[Boolean] = Default,
    weightDecay: Setting[Double] = Default)
    extends Optimizer("rmsprop") {
  override protected def options: Seq[(String, Any)] = Seq(
    "rho" -> rho.toOption,
    "momentum" -> momentum.toOption,
    "epsilon" -> epsilon.toOption,
    "centered" -> centered.toOption)
}

/** Adam whose step in each parameter is as long as the parameter: for large batches. */
final case class Lamb(
    learningRate: Setting[Schedule] = Default,
    beta1: Setting[Double] = Default,
    beta2: Setting[Double] = Default,
    epsilon: Setting[Double] = Default,
    weightDecay: Setting[Double] = Default)
    extends Optimizer("lamb") {
  override protected def options: Seq[(String, Any)] =
    Seq("beta1" -> beta1.toOption, "beta2" -> beta2.toOption, "epsilon" -> epsilon.toOption)
}
