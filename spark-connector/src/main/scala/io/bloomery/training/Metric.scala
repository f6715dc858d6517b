package io.bloomery.training

import io.bloomery.engine.Json
import io.bloomery.network.Setting
import io.bloomery.network.Setting.Default

import scala.language.implicitConversions

/**
 * A metric as the training's JSON has it, reported under its `name`, by default its kind. A text
 * is a metric with defaults: `setMetrics("accuracy", TopKCategoricalAccuracy(3))`.
 */
sealed abstract class Metric extends Product with Serializable {

  /** A name, or JSON. */
  def text: String
}

object Metric {
  implicit def named(name: String): Metric = NamedMetric(name)
}

private final case class NamedMetric(text: String) extends Metric

sealed abstract class MetricWithOptions(kind: String) extends Metric {
  def name: Setting[String]
  protected def options: Seq[(String, Any)]

  override def text: String =
    Json.obj(Seq("kind" -> kind) ++ options :+ ("name" -> name.toOption): _*).toString
}

/** The share of rows whose class is among the k most probable. */
final case class TopKCategoricalAccuracy(
    k: Setting[Int] = Default,
    name: Setting[String] = Default)
    extends MetricWithOptions("top_k_categorical_accuracy") {
  override protected def options: Seq[(String, Any)] = Seq("k" -> k.toOption)
}

/** Of what was chosen, the share that is right. */
final case class Precision(threshold: Setting[Double] = Default, name: Setting[String] = Default)
    extends MetricWithOptions("precision") {
  override protected def options: Seq[(String, Any)] = Seq("threshold" -> threshold.toOption)
}

/** Of what should be chosen, the share that was. */
final case class Recall(threshold: Setting[Double] = Default, name: Setting[String] = Default)
    extends MetricWithOptions("recall") {
  override protected def options: Seq[(String, Any)] = Seq("threshold" -> threshold.toOption)
}

/** The harmonic mean of precision and recall. */
final case class F1Score(threshold: Setting[Double] = Default, name: Setting[String] = Default)
    extends MetricWithOptions("f1") {
  override protected def options: Seq[(String, Any)] = Seq("threshold" -> threshold.toOption)
}
