package io.bloomery

import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.Identifiable
import org.apache.spark.sql.types.StructType

/**
 * Trains a neural network that tells values, one or several of a row, inside Spark's executors.
 * `new NeuralNetRegressor().setNetwork(Sequential(...)).setLabelCol("price").fit(train)`
 */
final class NeuralNetRegressor(override val uid: String)
    extends NetworkEstimator[NeuralNetRegressionModel]
    with RegressionParams {

  def this() = this(Identifiable.randomUID("neuralNetRegressor"))

  override protected def takesValues: Boolean = true

  override protected def newModel(trained: TrainedNetwork, schema: StructType): NeuralNetRegressionModel =
    new NeuralNetRegressionModel(uid, trained)

  override def copy(extra: ParamMap): NeuralNetRegressor = super.copy(extra).asInstanceOf[NeuralNetRegressor]
}

object NeuralNetRegressor extends NetworkEstimatorReadable[NeuralNetRegressor] {
  override def load(path: String): NeuralNetRegressor = super.load(path)
}
