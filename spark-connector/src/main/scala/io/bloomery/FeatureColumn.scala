package io.bloomery

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json
import scala.jdk.CollectionConverters._

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

  def named(param: String, name: String): FeatureColumn = FeatureColumn(param, name, name)

  /** A name, or the text of a JSON object. */
  def ofText(param: String, text: String): FeatureColumn =
    if (text.trim.startsWith("{")) ofObject(param, Json.parse(text, param)) else named(param, text)

  /** A name, an object, or a list of them. */
  def ofJson(param: String, json: JsonNode): Seq[FeatureColumn] = json match {
    case options: ObjectNode => Seq(ofObject(param, options))
    case list if list.isArray => list.elements().asScala.toSeq.flatMap(ofJson(param, _))
    case name if name.isTextual => Seq(named(param, name.asText()))
    case other => throw new UserError(s"Wrong value in $param: $other, wanted a column's name, an object or a list")
  }

  private def ofObject(param: String, options: ObjectNode): FeatureColumn = {
    val name = Option(options.get("column")).filter(_.isTextual).map(_.asText())
    FeatureColumn(
      param,
      name.getOrElse(throw new UserError(s"Column without a name: give it as column, in $param $options")),
      options)
  }
}
