package org.apache.spark.bloomery

import java.net.NetworkInterface

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.UserError

class WorkerNetworkTest extends AnyFunSuite {
  private val remote = "spark.master" -> "spark://host:7077"
  private def conf(settings: (String, String)*): SparkConf = new SparkConf(false).setAll(settings)

  Seq(
    Seq.empty -> false,
    Seq("spark.bloomery.network.encrypt" -> "true") -> true,
    Seq("spark.bloomery.network.encrypt" -> "false") -> false,
    Seq("spark.network.crypto.enabled" -> "true") -> true,
    Seq("spark.ssl.rpc.enabled" -> "true") -> true,
    Seq("spark.authenticate.enableSaslEncryption" -> "true") -> true,
    Seq("spark.network.crypto.enabled" -> "true", "spark.bloomery.network.encrypt" -> "false") -> true).foreach {
    case (settings, wanted) =>
      test(s"workers encrypt: $wanted, with ${settings.mkString(", ")}") {
        assert(WorkerNetwork.encrypts(conf(settings: _*)) == wanted)
      }
  }

  test("a value that is neither true nor false is refused") {
    val error = intercept[UserError](WorkerNetwork.encrypts(conf("spark.bloomery.network.encrypt" -> "yes")))
    assert(error.getMessage == "Neither true nor false: 'yes', set as spark.bloomery.network.encrypt")
  }

  test("keys that travel in plain text are told of") {
    val encrypt = "spark.bloomery.network.encrypt" -> "true"
    val told = WorkerNetwork.warnings(conf(remote, encrypt))
    assert(told.size == 1 && told.head.contains("their keys travel from the driver in plain text"))
    assert(WorkerNetwork.warnings(conf(remote)).isEmpty, "no keys, nothing to tell")
    assert(WorkerNetwork.warnings(conf(remote, encrypt, "spark.network.crypto.enabled" -> "true")).isEmpty)
    assert(WorkerNetwork.warnings(conf("spark.master" -> "local[2]", encrypt)).isEmpty, "they travel nowhere")
  }

  test("an interface is found by its name, and by an address of its own") {
    val loopback = NetworkInterface.networkInterfaces().iterator().asScala.find(_.isLoopback).get
    assert(WorkerNetwork.addressOf(loopback.getName) == "127.0.0.1")
    loopback.getInetAddresses.asScala.map(_.getHostAddress).foreach { address =>
      assert(WorkerNetwork.addressOf(address) == address.takeWhile(_ != '%'), "without the interface's name")
      assert(WorkerNetwork.addressOf(address.takeWhile(_ != '%')) == address.takeWhile(_ != '%'))
    }
  }

  Seq("no-such0", "192.0.2.1", "2001:db8::1", "localhost").foreach { name =>
    test(s"$name is no interface of this machine") {
      val error = intercept[UserError](WorkerNetwork.addressOf(name))
      assert(error.getMessage.startsWith(s"No such interface on this executor: '$name', it has "))
      assert(error.getMessage.endsWith("; set spark.bloomery.network.interface to one of them"))
    }
  }
}
