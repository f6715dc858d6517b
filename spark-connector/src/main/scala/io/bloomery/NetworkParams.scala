package io.bloomery

import com.fasterxml.jackson.databind.JsonNode
import io.bloomery.engine.{Description, Json}
import io.bloomery.training.{Loss, Metric}
import org.apache.spark.ml.param._
import org.apache.spark.ml.param.shared._

/** What estimators and models share: which columns are read and made, and what is asked of the outputs. */
trait NetworkParams extends InputParams with HasWeightCol {

  def setWeightCol(value: String): this.type = set(weightCol, value)

  /** The columns of labels. */
  private[bloomery] def targets(described: => Description): Targets

  /** Losses, metrics and their like, as the engine's task has them. */
  private[bloomery] def objective: Seq[(String, Any)]

  /** The columns that `transform` adds. */
  private[bloomery] def predictions(described: => Description): Predictions
}

/** Params of a network with one output: its loss and metrics. */
trait OneOutputParams extends NetworkParams with HasLabelCol with HasPredictionCol {

  final val loss: Param[String] = new Param[String](
    this,
    "loss",
    """a name such as categorical_crossentropy or mse, or JSON such as {"kind": "huber", "delta": 1.0}""")

  final val metrics: StringArrayParam =
    new StringArrayParam(this, "metrics", "what to report beside the loss: names such as accuracy, or JSON")

  final def getLoss: String = $(loss)
  final def getMetrics: Array[String] = $(metrics)

  def setLabelCol(value: String): this.type = set(labelCol, value)
  def setPredictionCol(value: String): this.type = set(predictionCol, value)
  def setLoss(value: String): this.type = set(loss, value)
  def setLoss(value: Loss): this.type = set(loss, value.toJson)
  def setMetrics(value: Array[String]): this.type = set(metrics, value)
  def setMetrics(first: Metric, more: Metric*): this.type =
    set(metrics, (first +: more).map(_.text).toArray)

  private[bloomery] override def objective: Seq[(String, Any)] = Seq(
    "loss" -> get(loss).orElse(getDefault(loss)).map(TaskJson.nameOrJson(_, "loss")),
    "metrics" -> get(metrics).map(_.toSeq.map(TaskJson.nameOrJson(_, "metrics"))))
}

/** Params of rows that weigh more or less by their class. */
trait ClassWeightParams extends Params {

  final val classWeights: Param[String] = new Param[String](
    this,
    "classWeights",
    """what rows of a class weigh, as JSON such as {"0": 1.0, "3": 2.5}; others weigh 1""")

  final def getClassWeights: String = $(classWeights)

  def setClassWeights(value: String): this.type = set(classWeights, value)
  def setClassWeights(value: Map[Int, Double]): this.type =
    set(classWeights, Json.obj(value.toSeq.sorted.map { case (k, v) => k.toString -> v }: _*).toString)

  private[bloomery] def classWeightsJson: (String, Any) = "classWeights" -> parsedClassWeights

  private[bloomery] def parsedClassWeights: Option[JsonNode] = get(classWeights).map { text =>
    if (!text.trim.matches("(?s)[{\\[].*")) {
      throw new UserError(
        s"classWeights is neither weights by class nor a list of them: $text; count the rows of each label, and give" +
          """ weights such as {"0": 1.0, "3": 2.5}, or a list with one for each class""")
    }
    Json.parseAny(text, "classWeights")
  }
}

/** Params of a classifier and its model. */
trait ClassificationParams
    extends FeatureParams
    with OneOutputParams
    with HasProbabilityCol
    with HasRawPredictionCol
    with HasThresholds {

  final val labelVocabulary: StringArrayParam = new StringArrayParam(
    this,
    "labelVocabulary",
    "the words of the label column that are the classes, in the order of their indices")

  final def getLabelVocabulary: Array[String] = $(labelVocabulary)

  def setLabelVocabulary(value: Array[String]): this.type = set(labelVocabulary, value)
  def setProbabilityCol(value: String): this.type = set(probabilityCol, value)
  def setRawPredictionCol(value: String): this.type = set(rawPredictionCol, value)
  def setThresholds(value: Array[Double]): this.type = set(thresholds, value)

  /** The words that the classes stand for, where they are known. */
  private[bloomery] def classLabels: Option[Seq[String]] = get(labelVocabulary).map(_.toSeq)

  private[bloomery] override def targets(described: => Description): Targets =
    Targets.one(LabelColumn("labelCol", getLabelCol, get(labelVocabulary).map(_.toSeq)))

  private[bloomery] override def predictions(described: => Description): Predictions =
    Predictions.ofClasses(
      getPredictionCol,
      getProbabilityCol,
      getRawPredictionCol,
      get(thresholds).map(_.toSeq),
      classLabels,
      described)
}

/** Params of a regressor and its model. */
trait RegressionParams extends FeatureParams with OneOutputParams {

  final val labelCols: StringArrayParam = new StringArrayParam(
    this,
    "labelCols",
    "several columns of targets, one for each value of the network's output, instead of labelCol")

  setDefault(loss -> "mean_squared_error")

  final def getLabelCols: Array[String] = $(labelCols)

  def setLabelCols(value: Array[String]): this.type = set(labelCols, value)

  private[bloomery] override def targets(described: => Description): Targets =
    get(labelCols) match {
      case Some(_) if isSet(labelCol) => throw new UserError("Both labelCol and labelCols are set: keep one")
      case Some(names) if names.isEmpty => throw new UserError("labelCols names no column")
      case Some(names) => Targets.one(names.toSeq.map(LabelColumn("labelCols", _)): _*)
      case None => Targets.one(LabelColumn("labelCol", getLabelCol))
    }

  private[bloomery] override def predictions(described: => Description): Predictions =
    Predictions.ofValues(Seq(("predictionCol", getPredictionCol, described.outputs.head)))
}

/** Params of a network with any number of outputs, each known by its name. */
trait NamedOutputParams extends NamedInputParams with NetworkParams with ClassWeightParams {

  final val labelCols: Param[String] = new Param[String](
    this,
    "labelCols",
    """the column of each output's targets, as JSON such as {"price": "cost", "species": {"column": "name",""" +
      """ "vocabulary": ["a", "b"]}}; a list names one column for each value of the output""")

  final val outputCols: Param[String] = new Param[String](
    this,
    "outputCols",
    """the column that is added for each output, as JSON such as {"price": "guess"}; an output that is not named gives""" +
      " prediction_ and its name")

  final val loss: Param[String] = new Param[String](
    this,
    "loss",
    """a name, JSON such as {"kind": "huber"}, or one for each output, as JSON such as {"price": "mse", "species":""" +
      """ "categorical_crossentropy"}""")

  final val lossWeights: Param[String] = new Param[String](
    this,
    "lossWeights",
    """how much the loss of each output counts, as JSON such as {"price": 0.5}; others count 1""")

  final val metrics: Param[String] = new Param[String](
    this,
    "metrics",
    """what to report beside the losses, as JSON such as {"price": ["mae"], "species": ["accuracy"]}""")

  final def getLabelCols: String = $(labelCols)
  final def getOutputCols: String = $(outputCols)
  final def getLoss: String = $(loss)
  final def getLossWeights: String = $(lossWeights)
  final def getMetrics: String = $(metrics)

  def setLabelCols(json: String): this.type = set(labelCols, json)
  def setLabelCols(value: Map[String, String]): this.type = set(labelCols, NamedOutputParams.json(value))
  def setOutputCols(json: String): this.type = set(outputCols, json)
  def setOutputCols(value: Map[String, String]): this.type = set(outputCols, NamedOutputParams.json(value))
  def setLoss(value: String): this.type = set(loss, value)
  def setLoss(value: Map[String, Loss]): this.type =
    set(loss, NamedOutputParams.json(value.map { case (output, loss) => output -> Json.parse(loss.toJson, "loss") }))
  def setLossWeights(json: String): this.type = set(lossWeights, json)
  def setLossWeights(value: Map[String, Double]): this.type = set(lossWeights, NamedOutputParams.json(value))
  def setMetrics(json: String): this.type = set(metrics, json)
  def setMetrics(value: Map[String, Seq[Metric]]): this.type =
    set(
      metrics,
      NamedOutputParams.json(value.map { case (output, metrics) =>
        output -> metrics.map(metric => TaskJson.nameOrJson(metric.text, "metrics"))
      }))

  private[bloomery] override def objective: Seq[(String, Any)] = Seq(
    "loss" -> get(loss).map(TaskJson.nameOrJson(_, "loss")),
    "lossWeights" -> get(lossWeights).map(Json.parse(_, "lossWeights")),
    "metrics" -> get(metrics).map(Json.parseAny(_, "metrics")),
    classWeightsJson)

  private[bloomery] override def targets(described: => Description): Targets = {
    val named = get(labelCols).map(Json.parse(_, "labelCols")).getOrElse {
      throw new UserError("No columns of targets: set labelCols, such as {\"output\": \"column\"}")
    }
    val names = described.outputs.map(_.name)
    Columns.checkNames("labelCols", "output", Some(named), names)
    Targets(names.map { name =>
      val columns = Option(named.get(name)).getOrElse {
        throw new UserError(s"No column of targets for output $name, in labelCols")
      }
      Target(Some(name), LabelColumn.ofJson("labelCols", columns))
    })
  }

  private[bloomery] override def predictions(described: => Description): Predictions = {
    val named = get(outputCols).map(Json.parse(_, "outputCols"))
    val outputs = described.outputs
    Columns.checkNames("outputCols", "output", named, outputs.map(_.name))
    Predictions.ofValues(outputs.map { output =>
      val name = named.flatMap(node => Option(node.get(output.name))).map(_.asText())
      ("outputCols", name.getOrElse(s"prediction_${output.name}"), output)
    })
  }
}

private[bloomery] object NamedOutputParams {
  private def json(byName: Map[String, _]): String = Json.obj(byName.toSeq.sortBy(_._1): _*).toString
}
