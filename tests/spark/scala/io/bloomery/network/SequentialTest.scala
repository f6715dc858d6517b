package io.bloomery.network

import io.bloomery.UserError
import io.bloomery.engine.Json
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class SequentialTest extends AnyFunSuite {

  private val layers = Table[Layer, String](
    ("layer", "json"),
    (Input((28, 28, 1)), """{"kind":"Input","shape":[28,28,1]}"""),
    (Input(50), """{"kind":"Input","shape":[50]}"""),
    (Input((28, 28)), """{"kind":"Input","shape":[28,28]}"""),
    (Input(Seq(2, 3, 4, 5)), """{"kind":"Input","shape":[2,3,4,5]}"""),
    (
      Input((8, 8, 3), dtype = "uint8", scale = 0.5, name = "pixels"),
      """{"kind":"Input","name":"pixels","shape":[8,8,3],"dtype":"uint8","scale":0.5}"""),
    (Conv2D(32, 3), """{"kind":"Conv2D","filters":32,"kernelSize":3}"""),
    (
      Conv2D(64, (3, 5), strides = (2, 1), padding = "same", activation = "relu", useBias = false),
      """{"kind":"Conv2D","filters":64,"kernelSize":[3,5],"strides":[2,1],"padding":"same","activation":"relu","useBias":false}"""),
    (
      Conv2D(4, 1, strides = 2, kernelInitializer = "he_normal", biasInitializer = "ones", name = "c"),
      """{"kind":"Conv2D","name":"c","filters":4,"kernelSize":1,"strides":2,"kernelInitializer":"he_normal","biasInitializer":"ones"}"""),
    (MaxPool2D(), """{"kind":"MaxPool2D"}"""),
    (MaxPool2D(2), """{"kind":"MaxPool2D","poolSize":2}"""),
    (
      MaxPool2D((2, 3), strides = 1, padding = "same"),
      """{"kind":"MaxPool2D","poolSize":[2,3],"strides":1,"padding":"same"}"""),
    (Dropout(0.25), """{"kind":"Dropout","rate":0.25}"""),
    (Flatten(), """{"kind":"Flatten"}"""),
    (Dense(128, activation = "relu"), """{"kind":"Dense","units":128,"activation":"relu"}"""),
    (
      Dense(10, useBias = true, kernelInitializer = "zeros", biasInitializer = "zeros", name = "out"),
      """{"kind":"Dense","name":"out","units":10,"useBias":true,"kernelInitializer":"zeros","biasInitializer":"zeros"}"""),
    (Activation("softmax"), """{"kind":"Activation","function":"softmax"}"""),
    (ReLU(), """{"kind":"ReLU"}"""),
    (Softmax(name = "last"), """{"kind":"Softmax","name":"last"}"""))

  test("a layer writes what it was given and nothing else") {
    forAll(layers) { (layer, json) =>
      val written = Json.parse(Sequential(layer).toJson, "network").path("layers").path(0).toString
      assert(written == json)
    }
  }

  test("a network has a format, a version and, when given, a name") {
    assert(Sequential(Flatten()).toJson ==
      """{"format":"bloomery-network","version":1,"layers":[{"kind":"Flatten"}]}""")
    assert(Sequential("tiny")(Flatten()).toJson ==
      """{"format":"bloomery-network","version":1,"name":"tiny","layers":[{"kind":"Flatten"}]}""")
  }

  test("a network survives its JSON") {
    val network = Sequential("n")(Input((4, 4, 1)), Conv2D(2, 3), Flatten(), Dense(2))
    assert(Network.fromJson(network.toJson) == network)
  }

  test("text that is not a JSON object is refused") {
    forAll(Table("json", "{", "[]", "network", "")) { json =>
      val error = intercept[UserError](Network.fromJson(json))
      assert(error.getMessage.startsWith("Not"))
    }
  }
}
