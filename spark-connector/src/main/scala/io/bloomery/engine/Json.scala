package io.bloomery.engine

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import io.bloomery.UserError

/** The JSON that crosses to the engine and into model folders; keys keep the order given. */
object Json {
  private val mapper = new ObjectMapper()
  private val nodes = JsonNodeFactory.instance

  /** An object of these fields; a field that is None is left out. */
  def obj(fields: (String, Any)*): ObjectNode =
    fields.foldLeft(nodes.objectNode()) {
      case (node, (_, None)) => node
      case (node, (key, Some(value))) => node.set[ObjectNode](key, json(value))
      case (node, (key, value)) => node.set[ObjectNode](key, json(value))
    }

  /** Parses text, which `what` names in the error. */
  def parse(text: String, what: String): ObjectNode = parseAny(text, what) match {
    case node: ObjectNode => node
    case _ => throw new UserError(s"Not a JSON object: $what")
  }

  /** The same where a list will do, too. */
  def parseAny(text: String, what: String): JsonNode =
    try mapper.readTree(text)
    catch {
      case error: JsonProcessingException =>
        // Where an object or a list began, Jackson tells in words for its own users.
        val why = error.getOriginalMessage.replaceAll(" \\(start marker at .*", "")
        throw new UserError(s"Not valid JSON: $what, $why")
    }

  def pretty(node: JsonNode): String =
    mapper.writerWithDefaultPrettyPrinter.writeValueAsString(node)

  private def json(value: Any): JsonNode = value match {
    case node: JsonNode => node
    case values: Iterable[_] =>
      values.foldLeft(nodes.arrayNode())((array, each) => array.add(json(each)))
    case other => mapper.valueToTree[JsonNode](other)
  }
}
