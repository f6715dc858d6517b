package io.bloomery

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json
import org.apache.spark.ml.param.Param

/** The engine's task as the params say it: only what the user set, since defaults are the engine's. */
private[bloomery] object TaskJson {

  def training(params: NeuralNetParams): String =
    Json
      .obj(
        "network" -> network(params),
        "training" -> Json.obj(
          "loss" -> set(params, params.loss).map(nameOrJson(_, "loss")),
          "optimizer" -> optimizer(params),
          "clipNorm" -> set(params, params.clipNorm),
          "clipValue" -> set(params, params.clipValue),
          "emaMomentum" -> set(params, params.emaMomentum),
          "backwardPassesPerStep" -> set(params, params.backwardPassesPerStep),
          "gradientCompression" -> set(params, params.gradientCompression),
          "localSteps" -> set(params, params.localSteps),
          "metrics" -> set(params, params.metrics).map(_.toSeq.map(nameOrJson(_, "metrics"))),
          "classWeights" -> set(params, params.classWeights).map(Json.parse(_, "classWeights")),
          "batchSize" -> set(params, params.batchSize),
          "globalBatchSize" -> set(params, params.globalBatchSize),
          "epochs" -> set(params, params.epochs),
          "stepsPerEpoch" -> set(params, params.stepsPerEpoch),
          "seed" -> set(params, params.seed),
          "shuffle" -> set(params, params.shuffle),
          "validationFraction" -> set(params, params.validationFraction)),
        "columns" -> Json.obj(
          "features" -> features(params),
          "nulls" -> params.get(params.nulls),
          "nans" -> params.get(params.nans),
          "label" -> label(params),
          "weight" -> column(params, params.weightCol),
          "validation" -> column(params, params.validationIndicatorCol)),
        "data" -> Json.obj(
          "shuffleBuffer" -> set(params, params.shuffleBuffer),
          "memory" -> set(params, params.dataMemory)),
        "checkpoint" -> CheckpointParams.json(params),
        // Each worker puts its own in this place.
        "worker" -> Json.obj(
          "size" -> params.getNumWorkers,
          "connectTimeout" -> params.getConnectTimeout,
          "stepTimeout" -> params.getStepTimeout,
          "traceLayers" -> traceDir(params).map(_ => true)))
      .toString

  def traceDir(params: NeuralNetParams): Option[String] =
    set(params, params.traceDir).map(_.trim).filter(_.nonEmpty)

  def prediction(network: String, params: PredictionParams): String =
    Json
      .obj(
        "network" -> Json.parse(network, "network"),
        "columns" -> Json.obj(
          "features" -> features(params),
          "nulls" -> params.get(params.nulls),
          "nans" -> params.get(params.nans)))
      .toString

  /** A column that is named; Spark takes an empty name for none. */
  def column(params: NeuralNetParams, param: Param[String]): Option[String] =
    set(params, param).filter(_.nonEmpty)

  /** One column, or a list of them. */
  private def features(params: PredictionParams): Any =
    FeatureColumn.of(params).map(_.json) match {
      case Seq(one) => one
      case several => several
    }

  private def label(params: NeuralNetParams): Any =
    set(params, params.labelVocabulary) match {
      case Some(words) => Json.obj("column" -> params.getLabelCol, "vocabulary" -> words.toSeq)
      case None => params.getLabelCol
    }

  private def network(params: NeuralNetParams): ObjectNode =
    Json.parse(
      params.get(params.network).getOrElse {
        throw new UserError("No network to train; set the param network")
      },
      "network")

  /** A name, or an object when the user gave JSON or set one of its options as a param. */
  private def optimizer(params: NeuralNetParams): Option[Any] = {
    val overrides = Seq(
      "learningRate" -> set(params, params.learningRate),
      "momentum" -> set(params, params.momentum)).filter { case (_, value) => value.isDefined }
    val chosen = set(params, params.optimizer)
    chosen.map(_.trim).filter(_.startsWith("{")).map(Json.parse(_, "optimizer")) match {
      case Some(options)
          if options.path("learningRate").isObject && params.isSet(params.learningRate) =>
        throw new UserError(
          "Both learningRate and the optimizer's schedule are set: keep one")
      case Some(options) => Some(options.setAll[ObjectNode](Json.obj(overrides: _*)))
      case None if overrides.isEmpty => chosen
      case None => Some(Json.obj(("kind" -> chosen) +: overrides: _*))
    }
  }

  /** An object when the text is one. */
  private def nameOrJson(text: String, what: String): Any =
    if (text.trim.startsWith("{")) Json.parse(text, what) else text

  private def set[T](params: NeuralNetParams, param: Param[T]): Option[T] = params.get(param)
}
