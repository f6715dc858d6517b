package io.bloomery

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.bloomery.engine.Json
import scala.jdk.CollectionConverters._

/** A column of labels; `words` are the classes where they are told, and texts may stand in it then. */
private[bloomery] final case class LabelColumn(param: String, name: String, words: Option[Seq[String]] = None) {
  def json: Any = words.fold[Any](name)(words => Json.obj("column" -> name, "vocabulary" -> words))
}

/** What an output should give: one column, or one for each of its values. */
private[bloomery] final case class Target(output: Option[String], columns: Seq[LabelColumn])

/** The targets of all outputs; that of a single one needs no name. */
private[bloomery] final case class Targets(all: Seq[Target]) {
  def columns: Seq[LabelColumn] = all.flatMap(_.columns)

  /** As the engine's task has them. */
  def json: (String, Any) = all match {
    case Seq(Target(None, columns)) => "label" -> Targets.oneOrList(columns)
    case several =>
      "labels" -> Json.obj(several.collect { case Target(Some(output), columns) =>
        output -> Targets.oneOrList(columns)
      }: _*)
  }
}

private[bloomery] object Targets {
  def one(columns: LabelColumn*): Targets = Targets(Seq(Target(None, columns)))

  private def oneOrList(columns: Seq[LabelColumn]): Any = columns.map(_.json) match {
    case Seq(one) => one
    case several => several
  }
}

private[bloomery] object LabelColumn {

  /** A name, an object with a vocabulary, or a list of names. */
  def ofJson(param: String, json: JsonNode): Seq[LabelColumn] = json match {
    case options: ObjectNode =>
      val name = Option(options.get("column")).filter(_.isTextual).map(_.asText())
      val words = Option(options.get("vocabulary")).map(_.elements().asScala.map(_.asText()).toSeq)
      Seq(
        LabelColumn(
          param,
          name.getOrElse(throw new UserError(s"Column without a name: give it as column, in $param $options")),
          words))
    case list if list.isArray => list.elements().asScala.toSeq.flatMap(ofJson(param, _))
    case name if name.isTextual => Seq(LabelColumn(param, name.asText()))
    case other => throw new UserError(s"Wrong value in $param: $other, wanted a column's name, an object or a list")
  }
}
