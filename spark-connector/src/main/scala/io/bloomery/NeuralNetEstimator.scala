package io.bloomery

import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.Identifiable
import org.apache.spark.sql.types.StructType

/**
 * Trains a network of any number of inputs and outputs, which are known by their names.
 * `new NeuralNetEstimator().setNetwork(Model(...)).setInputCols(Map("image" -> "pixels")).setLabelCols(Map("price" -> "cost"))`
 */
final class NeuralNetEstimator(override val uid: String)
    extends NetworkEstimator[NeuralNetModel]
    with NamedOutputParams {

  def this() = this(Identifiable.randomUID("neuralNetEstimator"))

  override protected def takesValues: Boolean = true

  override protected def newModel(trained: TrainedNetwork, schema: StructType): NeuralNetModel =
    new NeuralNetModel(uid, trained)

  override def copy(extra: ParamMap): NeuralNetEstimator = super.copy(extra).asInstanceOf[NeuralNetEstimator]
}

object NeuralNetEstimator extends NetworkEstimatorReadable[NeuralNetEstimator] {
  override def load(path: String): NeuralNetEstimator = super.load(path)
}
