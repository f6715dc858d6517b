package io.bloomery

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.Identifiable
import org.apache.spark.sql.types.StructType
import scala.jdk.CollectionConverters._

/**
 * Trains a neural network that classifies, inside Spark's executors.
 * `new NeuralNetClassifier().setNetwork(Sequential(...)).setEpochs(30).fit(train)`
 */
final class NeuralNetClassifier(override val uid: String)
    extends NetworkEstimator[NeuralNetClassificationModel]
    with ClassificationParams
    with ClassWeightParams {

  def this() = this(Identifiable.randomUID("neuralNetClassifier"))

  private[bloomery] override def objective: Seq[(String, Any)] = super.objective :+ classWeightsJson

  /** Classes may be told by their words, too. */
  private[bloomery] override def parsedClassWeights: Option[JsonNode] = super.parsedClassWeights.map {
    case weights: ObjectNode =>
      Json.obj(weights.properties().asScala.toSeq.map(each => classIndex(each.getKey) -> each.getValue): _*)
    case list => list
  }

  private def classIndex(name: String): String = {
    val index = classLabels.fold(-1)(_.indexOf(name))
    if (index < 0 && name.toLongOption.isEmpty) {
      throw new UserError(
        s"Unknown class in classWeights: $name; give the index of a class, or a word of labelVocabulary")
    }
    if (index < 0) name else index.toString
  }

  override protected def takesValues: Boolean = false

  /** Labels that StringIndexer or its like left in the column's metadata go on with the model. */
  override protected def newModel(trained: TrainedNetwork, schema: StructType): NeuralNetClassificationModel = {
    val model = new NeuralNetClassificationModel(uid, trained)
    classLabels.orElse(labelsOf(schema)).foreach(words => model.set(model.labels, words.toArray))
    model
  }

  private[bloomery] override def checkedSchema(schema: StructType): StructType = {
    labelsOf(schema)
    super.checkedSchema(schema)
  }

  override def copy(extra: ParamMap): NeuralNetClassifier = super.copy(extra).asInstanceOf[NeuralNetClassifier]

  /** An index beyond the network's classes would be an error of some row, so it is one of the column. */
  private def labelsOf(schema: StructType): Option[Seq[String]] = {
    val words = Columns.classLabels(schema, getLabelCol)
    words.filter(_.length != described.classes).foreach { words =>
      throw new UserError(
        s"labelCol has other labels than the network has classes: column $getLabelCol, ${words.length} labels," +
          s" classes: ${described.classes}")
    }
    words
  }
}

object NeuralNetClassifier extends NetworkEstimatorReadable[NeuralNetClassifier] {
  override def load(path: String): NeuralNetClassifier = super.load(path)
}
