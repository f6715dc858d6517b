package io.bloomery.training

import io.bloomery.engine.Json
import io.bloomery.network.Setting
import io.bloomery.network.Setting.Default

/**
 * A loss as the training's JSON has it, with Keras's names:
 * `CategoricalCrossentropy(labelSmoothing = 0.1)`. Nothing is checked here: the engine knows each
 * kind, its options and their defaults.
 */
sealed abstract class Loss(kind: String) extends Product with Serializable {
  protected def options: Seq[(String, Any)]

  def toJson: String = Json.obj(("kind" -> kind) +: options: _*).toString
}

/** For one class of several; labels are class indices or vectors of probabilities. */
final case class CategoricalCrossentropy(
    fromLogits: Setting[Boolean] = Default,
    labelSmoothing: Setting[Double] = Default)
    extends Loss("categorical_crossentropy") {
  override protected def options: Seq[(String, Any)] =
    Seq("fromLogits" -> fromLogits.toOption, "labelSmoothing" -> labelSmoothing.toOption)
}

/** The same with class indices only. */
final case class SparseCategoricalCrossentropy(
    fromLogits: Setting[Boolean] = Default,
    labelSmoothing: Setting[Double] = Default)
    extends Loss("sparse_categorical_crossentropy") {
  override protected def options: Seq[(String, Any)] =
    Seq("fromLogits" -> fromLogits.toOption, "labelSmoothing" -> labelSmoothing.toOption)
}

/** For outputs that each decide by themselves. */
final case class BinaryCrossentropy(
    fromLogits: Setting[Boolean] = Default,
    labelSmoothing: Setting[Double] = Default)
    extends Loss("binary_crossentropy") {
  override protected def options: Seq[(String, Any)] =
    Seq("fromLogits" -> fromLogits.toOption, "labelSmoothing" -> labelSmoothing.toOption)
}

case object MeanSquaredError extends Loss("mean_squared_error") {
  override protected def options: Seq[(String, Any)] = Nil
}

case object MeanAbsoluteError extends Loss("mean_absolute_error") {
  override protected def options: Seq[(String, Any)] = Nil
}

/** Half the square up to `delta`, straight beyond it. */
final case class Huber(delta: Setting[Double] = Default) extends Loss("huber") {
  override protected def options: Seq[(String, Any)] = Seq("delta" -> delta.toOption)
}
