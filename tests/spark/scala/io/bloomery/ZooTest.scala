package io.bloomery

import java.nio.file.{Files, Path}

import io.bloomery.engine.Json
import io.bloomery.network.{EveryKind, Network}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class ZooTest extends AnyFunSuite {

  private val networks = Table[Network, String, Long](
    ("network", "file", "parameters"),
    (Zoo.mnistCnn, "mnist-cnn", 1199882L),
    (Zoo.cifarResnet56v2, "cifar-resnet56v2", 1673738L),
    (Zoo.captioning, "captioning", 5527963L),
    (Zoo.fishResnet34, "fish-resnet34", 21300041L),
    (Zoo.solarMlp(10), "solar-mlp-10", 183511L),
    (Zoo.solarMlp(100), "solar-mlp-100", 16010101L),
    (Zoo.solarCnn, "solar-cnn", 4352641L))

  private def python(file: String): String =
    Json.parse(Files.readString(Path.of(s"../tests/golden/networks/$file.json")), file).toString

  private def scala(network: Network): String = Json.parse(network.toJson, "network").toString

  test("the networks are those of Python") {
    forAll(networks)((network, file, _) => assert(scala(network) == python(file)))
  }

  test("every layer kind and option is written as in Python") {
    assert(scala(EveryKind.network) == python("every-kind"))
  }

  test("the engine counts the known numbers of parameters") {
    forAll(networks)((network, _, parameters) => assert(network.parameters == parameters))
  }
}
