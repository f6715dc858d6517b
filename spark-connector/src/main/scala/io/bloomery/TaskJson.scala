package io.bloomery

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.{Description, Engine, Json}
import io.bloomery.network.Network
import org.apache.spark.ml.param.{Param, Params}

/** The engine's task as the params say it: only what the user set, since defaults are the engine's. */
private[bloomery] object TaskJson {

  /** With `network`, since a session's settings may have given it. */
  def training(params: TrainingParams): String = {
    lazy val described = Engine.describe(Json.obj("network" -> network(params)).toString)
    val training = params.objective ++ Seq(
      "optimizer" -> optimizer(params),
      "clipNorm" -> params.get(params.clipNorm),
      "clipValue" -> params.get(params.clipValue),
      "emaMomentum" -> params.get(params.emaMomentum),
      "backwardPassesPerStep" -> params.get(params.backwardPassesPerStep),
      "gradientCompression" -> params.get(params.gradientCompression),
      "localSteps" -> params.get(params.localSteps),
      "batchSize" -> params.get(params.batchSize),
      "globalBatchSize" -> params.get(params.globalBatchSize),
      "epochs" -> params.get(params.epochs),
      "stepsPerEpoch" -> params.get(params.stepsPerEpoch),
      "seed" -> params.get(params.seed),
      "shuffle" -> params.get(params.shuffle),
      "validationFraction" -> params.get(params.validationFraction)) ++ params.stopping
    val columns = inputs(params, described) ++ Seq(
      params.targets(described).json,
      "weight" -> column(params, params.weightCol),
      "validation" -> column(params, params.validationIndicatorCol))
    Json
      .obj(
        "network" -> network(params),
        "training" -> Json.obj(training: _*),
        "columns" -> Json.obj(columns: _*),
        "data" -> Json.obj(
          "shuffleBuffer" -> params.get(params.shuffleBuffer),
          "memory" -> params.get(params.dataMemory)),
        "checkpoint" -> CheckpointParams.json(params),
        // Each worker puts its own in this place.
        "worker" -> Json.obj(
          "size" -> params.getNumWorkers,
          "connectTimeout" -> params.getConnectTimeout,
          "stepTimeout" -> params.getStepTimeout,
          "traceLayers" -> column(params, params.traceDir).map(_ => true)))
      .toString
  }

  def prediction(network: Network, params: NetworkParams, described: => Description): String =
    Json
      .obj("network" -> Json.parse(network.toJson, "network"), "columns" -> Json.obj(inputs(params, described): _*))
      .toString

  /** What is measured on rows with labels. */
  def evaluation(network: Network, params: NetworkParams, described: => Description): String =
    Json
      .obj(
        "network" -> Json.parse(network.toJson, "network"),
        "training" -> Json.obj(params.objective: _*),
        "columns" -> Json.obj(
          inputs(params, described) ++ Seq(
            params.targets(described).json,
            "weight" -> column(params, params.weightCol)): _*))
      .toString

  /** A column that is named; Spark takes an empty name for none. */
  def column(params: Params, param: Param[String]): Option[String] =
    params.get(param).filter(_.nonEmpty)

  /** An object when the text is one. */
  def nameOrJson(text: String, what: String): Any =
    if (text.trim.startsWith("{")) Json.parse(text, what) else text

  def network(params: TrainingParams): ObjectNode =
    Json.parse(
      params.get(params.network).getOrElse {
        throw new UserError("No network to train; set the param network")
      },
      "network")

  private def inputs(params: InputParams, described: => Description): Seq[(String, Any)] = Seq(
    params.inputs(described).json,
    "nulls" -> params.get(params.nulls),
    "nans" -> params.get(params.nans))

  /** A name, or an object when the user gave JSON or set one of its options as a param. */
  private def optimizer(params: TrainingParams): Option[Any] = {
    val overrides = Seq(
      "learningRate" -> params.get(params.learningRate),
      "momentum" -> params.get(params.momentum)).filter { case (_, value) => value.isDefined }
    val chosen = params.get(params.optimizer)
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
}
