package io.bloomery

import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.Identifiable
import org.apache.spark.sql.types.{BooleanType, NumericType, StructType}

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

  /** A number for several values would be the index of one of them, which only a classifier means. */
  private[bloomery] override def checkedSchema(schema: StructType): StructType = {
    val checked = super.checkedSchema(schema)
    val values = described.outputs.head.width
    schema.find(field => field.name == getLabelCol && !isSet(labelCols) && values > 1).map(_.dataType).foreach {
      case _: NumericType | BooleanType =>
        throw new UserError(
          s"labelCol has one number, and the network gives $values values; name as many columns in labelCols, or one of" +
            s" arrays of them in labelCol: column $getLabelCol")
      case _ => ()
    }
    checked
  }

  override def copy(extra: ParamMap): NeuralNetRegressor = super.copy(extra).asInstanceOf[NeuralNetRegressor]
}

object NeuralNetRegressor extends NetworkEstimatorReadable[NeuralNetRegressor] {
  override def load(path: String): NeuralNetRegressor = super.load(path)
}
