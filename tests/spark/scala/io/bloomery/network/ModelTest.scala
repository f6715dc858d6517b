package io.bloomery.network

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import io.bloomery.UserError
import io.bloomery.engine.Json
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class ModelTest extends AnyFunSuite {

  private def layers(network: Network): Seq[JsonNode] =
    Json.parse(network.toJson, "network").path("layers").elements.asScala.toSeq

  private def names(network: Network): Seq[String] = layers(network).map(_.path("name").asText)

  test("a model writes names, inputs and outputs") {
    val x = Input(4, dtype = "int32", name = "tokens")
    val h = Dense(8, activation = "relu")(x)
    val network = Model(x, Dense(3, name = "scores")(Add()(h, Dense(8)(x))), "small")
    assert(network.toJson == Seq(
      """{"format":"bloomery-network","version":1,"name":"small","layers":[""",
      """{"kind":"Input","name":"tokens","shape":[4],"dtype":"int32"},""",
      """{"kind":"Dense","name":"dense","units":8,"activation":"relu","inputs":["tokens"]},""",
      """{"kind":"Dense","name":"dense_1","units":8,"inputs":["tokens"]},""",
      """{"kind":"Add","name":"add","inputs":["dense","dense_1"]},""",
      """{"kind":"Dense","name":"scores","units":3,"inputs":["add"]}],""",
      """"outputs":["scores"]}""").mkString)
  }

  test("inputs and outputs stand as listed") {
    val (a, b) = (Input(4, name = "a"), Input(4, name = "b"))
    val (first, second) = (Dense(1, name = "first")(a), Dense(1, name = "second")(b))
    val network = Model(Seq(b, a), Seq(second, first))
    assert(names(network) == Seq("b", "a", "second", "first"))
    assert(network.toJson.endsWith(""""outputs":["second","first"]}"""))
  }

  test("a layer called twice shares its parameters") {
    val (a, b) = (Input(4), Input(4))
    val encoder = Dense(8, name = "encoder")
    val unnamed = Dense(2)
    val network = Model(Seq(a, b), Seq(Concatenate()(unnamed(encoder(a)), unnamed(encoder(b)))))
    assert(names(network).slice(2, 6) == Seq("encoder", "dense", "encoder_1", "dense_1"))
    assert(layers(network).map(_.path("sharedWith").asText) ==
      Seq("", "", "", "", "encoder", "dense", ""))
    assert(layers(network)(4).toString ==
      """{"kind":"Dense","name":"encoder_1","units":8,"inputs":["input_1"],"sharedWith":"encoder"}""")
  }

  test("two equal layers share nothing") {
    val x = Input(4)
    val network = Model(x, Dense(2)(Dense(2)(x)))
    assert(names(network) == Seq("input", "dense", "dense_1"))
    assert(!network.toJson.contains("sharedWith"))
  }

  test("made names leave given ones alone") {
    val x = Input(4)
    val network = Model(x, Dense(2, name = "dense_1")(Dense(2)(Dense(2, name = "dense")(x))))
    assert(names(network) == Seq("input", "dense", "dense_2", "dense_1"))
  }

  test("a bidirectional layer is called as itself or as the layer inside") {
    val x = Input((4, 2))
    forAll(
      Table[Layer, String](
        ("layer", "name"),
        (Bidirectional(LSTM(2)), "lstm"),
        (Bidirectional(LSTM(2, name = "in")), "in"),
        (Bidirectional(LSTM(2, name = "in"), name = "out"), "out"))) { (layer, name) =>
      assert(layers(Model(x, layer(x))).last.toString ==
        s"""{"kind":"LSTM","name":"$name","units":2,"bidirectional":true,"inputs":["input"]}""")
    }
  }

  test("a network may be deeper than the stack") {
    val x = Input(4)
    val deep = (1 to 20000).foldLeft[Tensor](x)((tensor, _) => ReLU()(tensor))
    assert(names(Model(x, deep)).size == 20001)
  }

  test("an input that is not listed is refused") {
    val error = intercept[UserError](Model(Input(4), Dense(2)(Input(5))))
    assert(error.getMessage.startsWith("Input is not among the inputs of the Model: Input("))
  }

  test("what is wrong with a network is the engine's to say") {
    val x = Input(4)
    forAll(
      Table(
        ("network", "sentence"),
        (Model(x, Add()(x)), "Layer 'add' (Add) takes two inputs or more, found 1"),
        (Model(x, Dense(2)()), "Layer 'dense' (Dense) takes one input, found 0"),
        (
          Model(Seq(x, Input(5)), Seq(Dense(2)(x))),
          "Input is not used: layer 'input_1', connect it, add it to `outputs` or remove it"))) {
      (network, sentence) =>
        assert(intercept[UserError](network.summary()).getMessage == sentence)
    }
  }
}
