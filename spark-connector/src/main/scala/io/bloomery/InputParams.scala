package io.bloomery

import io.bloomery.engine.{Description, Json}
import org.apache.spark.ml.param._
import org.apache.spark.ml.param.shared._

/** Params that say what the inputs of a network are made of. */
trait InputParams extends Params {

  final val nulls: Param[String] =
    new Param[String](this, "nulls", "what a null among the features is: error, zero or mean")

  final val nans: Param[String] =
    new Param[String](this, "nans", "what NaN or an infinity among the features is: error or pass")

  setDefault(nulls -> "error", nans -> "error")

  final def getNulls: String = $(nulls)
  final def getNans: String = $(nans)

  def setNulls(value: String): this.type = set(nulls, value)
  def setNans(value: String): this.type = set(nans, value)

  /** The columns of each input; the names of the network's inputs are asked for only where they are needed. */
  private[bloomery] def inputs(described: => Description): Inputs
}

/** Params of a network with one input: a column, or several that make it up. */
trait FeatureParams extends InputParams with HasFeaturesCol {

  final val featuresCols: StringArrayParam = new StringArrayParam(
    this,
    "featuresCols",
    """several columns that make up the input, in this order, instead of featuresCol: names, or JSON such as """ +
      """{"column": "carrier", "vocabulary": ["AA", "DL"]}""")

  final def getFeaturesCols: Array[String] = $(featuresCols)

  def setFeaturesCol(value: String): this.type = set(featuresCol, value)
  def setFeaturesCols(value: Array[String]): this.type = set(featuresCols, value)

  /** Those of featuresCols where it is set, else featuresCol. */
  private[bloomery] override def inputs(described: => Description): Inputs =
    get(featuresCols) match {
      case Some(_) if isSet(featuresCol) =>
        throw new UserError("Both featuresCol and featuresCols are set: keep one")
      case Some(texts) if texts.isEmpty => throw new UserError("featuresCols names no column")
      case Some(texts) => Inputs.one(texts.toSeq.map(FeatureColumn.ofText("featuresCols", _)))
      case None => Inputs.one(Seq(FeatureColumn.named("featuresCol", getFeaturesCol)))
    }
}

/** Params of a network with any number of inputs, each known by its name. */
trait NamedInputParams extends InputParams {

  final val inputCols: Param[String] = new Param[String](
    this,
    "inputCols",
    """the columns of each input, as JSON such as {"image": "pixels", "place": ["x", "y"]}; an input that is not named""" +
      " takes the column of its own name")

  final def getInputCols: String = $(inputCols)

  def setInputCols(json: String): this.type = set(inputCols, json)
  def setInputCols(value: Map[String, String]): this.type =
    set(inputCols, Json.obj(value.toSeq.sorted: _*).toString)

  private[bloomery] override def inputs(described: => Description): Inputs = {
    val named = get(inputCols).map(Json.parse(_, "inputCols"))
    val names = described.inputs.map(_.name)
    Columns.checkNames("inputCols", "input", named, names)
    Inputs.named(names.map { name =>
      name -> named.flatMap(node => Option(node.get(name))).fold(Seq(FeatureColumn.named("inputCols", name)))(
        FeatureColumn.ofJson("inputCols", _))
    })
  }
}
