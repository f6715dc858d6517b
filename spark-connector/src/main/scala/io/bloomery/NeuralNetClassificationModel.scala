package io.bloomery

import org.apache.spark.ml.param.{ParamMap, StringArrayParam}
import org.apache.spark.ml.util.Identifiable

/** A trained network that classifies. */
final class NeuralNetClassificationModel private[bloomery] (override val uid: String, trained: TrainedNetwork)
    extends NetworkModel[NeuralNetClassificationModel](trained)
    with ClassificationParams {

  /** For the list of META-INF/services alone, which is of classes that can be made from nothing. */
  private[bloomery] def this() = this(Identifiable.randomUID("neuralNetModel"), TrainedNetwork.none)

  final val labels: StringArrayParam = new StringArrayParam(
    this,
    "labels",
    "what the classes stand for, in the order of their indices; it goes with the prediction as metadata")

  def getLabels: Array[String] = $(labels)
  def setLabels(value: Array[String]): this.type = set(labels, value)

  def numClasses: Int = described.classes

  private[bloomery] override def classLabels: Option[Seq[String]] =
    get(labels).map(_.toSeq).orElse(super.classLabels)

  override protected def takesValues: Boolean = false

  override protected def make(trained: TrainedNetwork): NeuralNetClassificationModel =
    new NeuralNetClassificationModel(uid, trained)

  override def copy(extra: ParamMap): NeuralNetClassificationModel = super.copy(extra)

  override def toString: String =
    s"NeuralNetClassificationModel: uid=$uid, numClasses=$numClasses, numParameters=$numParameters"
}

object NeuralNetClassificationModel extends NetworkModelReadable[NeuralNetClassificationModel] {
  override protected def make(uid: String, trained: TrainedNetwork): NeuralNetClassificationModel =
    new NeuralNetClassificationModel(uid, trained)
}
