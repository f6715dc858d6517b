package io.bloomery

import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.Identifiable

/** A trained network that tells values. */
final class NeuralNetRegressionModel private[bloomery] (override val uid: String, trained: TrainedNetwork)
    extends NetworkModel[NeuralNetRegressionModel](trained)
    with RegressionParams {

  /** For the list of META-INF/services alone, which is of classes that can be made from nothing. */
  private[bloomery] def this() = this(Identifiable.randomUID("neuralNetModel"), TrainedNetwork.none)

  /** Values of a row. */
  def numTargets: Int = described.outputs.head.width

  override protected def takesValues: Boolean = true

  override protected def make(trained: TrainedNetwork): NeuralNetRegressionModel =
    new NeuralNetRegressionModel(uid, trained)

  override def copy(extra: ParamMap): NeuralNetRegressionModel = super.copy(extra)

  override def toString: String =
    s"NeuralNetRegressionModel: uid=$uid, numTargets=$numTargets, numParameters=$numParameters"
}

object NeuralNetRegressionModel extends NetworkModelReadable[NeuralNetRegressionModel] {
  override protected def make(uid: String, trained: TrainedNetwork): NeuralNetRegressionModel =
    new NeuralNetRegressionModel(uid, trained)
}
