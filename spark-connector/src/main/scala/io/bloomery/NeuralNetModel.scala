package io.bloomery

import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.Identifiable

/** A trained network of any number of inputs and outputs. */
final class NeuralNetModel private[bloomery] (override val uid: String, trained: TrainedNetwork)
    extends NetworkModel[NeuralNetModel](trained)
    with NamedOutputParams {

  /** For the list of META-INF/services alone, which is of classes that can be made from nothing. */
  private[bloomery] def this() = this(Identifiable.randomUID("neuralNetModel"), TrainedNetwork.none)

  override protected def takesValues: Boolean = true

  override protected def make(trained: TrainedNetwork): NeuralNetModel = new NeuralNetModel(uid, trained)

  override def copy(extra: ParamMap): NeuralNetModel = super.copy(extra)

  override def toString: String =
    s"NeuralNetModel: uid=$uid, outputs=${described.outputs.map(_.name).mkString(", ")}, numParameters=$numParameters"
}

object NeuralNetModel extends NetworkModelReadable[NeuralNetModel] {
  override protected def make(uid: String, trained: TrainedNetwork): NeuralNetModel = new NeuralNetModel(uid, trained)
}
