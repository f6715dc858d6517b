package io.bloomery

import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json

/** A column of the network's input as the user gave it: its name, or JSON that says more of it. */
private[bloomery] final case class FeatureColumn(param: String, name: String, json: Any) {

  /** Whether texts may stand in it. */
  def isCategory: Boolean = json match {
    case options: ObjectNode => options.has("vocabulary") || options.has("hashBuckets")
    case _ => false
  }

  /** For the user: how texts become indices. */
  def rule: String = json match {
    case options: ObjectNode if options.has("hashBuckets") =>
      s"a hash into ${options.path("hashBuckets").asLong()} buckets"
    case options: ObjectNode if options.path("vocabulary").isArray =>
      s"a vocabulary of ${options.path("vocabulary").size()} words"
    case _ => "a vocabulary that is learnt from all rows"
  }
}

private[bloomery] object FeatureColumn {

  /** Those of featuresCols where it is set, else featuresCol. */
  def of(params: PredictionParams): Seq[FeatureColumn] =
    params.get(params.featuresCols) match {
      case Some(_) if params.isSet(params.featuresCol) =>
        throw new UserError("Both featuresCol and featuresCols are set: keep one")
      case Some(texts) if texts.isEmpty => throw new UserError("featuresCols names no column")
      case Some(texts) => texts.toSeq.map(read)
      case None =>
        val name = params.getFeaturesCol
        Seq(FeatureColumn("featuresCol", name, name))
    }

  private def read(text: String): FeatureColumn =
    if (text.trim.startsWith("{")) {
      val json = Json.parse(text, "featuresCols")
      val name = Option(json.get("column")).filter(_.isTextual).map(_.asText())
      FeatureColumn(
        "featuresCols",
        name.getOrElse(throw new UserError(s"Column without a name: give it as column, in featuresCols $text")),
        json)
    } else FeatureColumn("featuresCols", text, text)
}
