package io.bloomery.engine

import io.bloomery.jni.{Native, NativeLoader}
import scala.jdk.CollectionConverters._

/** The engine's questions and answers that need no trainer or predictor. */
object Engine {

  /** Versions of the engine and its libraries, as JSON. */
  def info: String = {
    NativeLoader.load()
    Native.engineInfo()
  }

  /** Checks a whole task and describes its network. */
  def describe(task: String): Description = {
    NativeLoader.load()
    Description(Native.describe(task))
  }

  /** What each worker of an attempt proves itself with, by rank: secret. */
  def issueCredentials(numWorkers: Int, attempt: Int, encrypt: Boolean): Array[Array[Byte]] = {
    NativeLoader.load()
    Native.issueCredentials(numWorkers, attempt, encrypt)
  }

  /** A network, as JSON, with its weights as the bytes of an ONNX file. */
  def exportOnnx(network: String, weights: Array[Byte]): Array[Byte] = {
    NativeLoader.load()
    Native.exportOnnx(Json.obj("network" -> Json.parse(network, "network")).toString, weights)
  }

  /** Loss and metrics by name, from the sums of evaluators. */
  def measures(task: String, sums: Array[Double]): Map[String, Double] = {
    NativeLoader.load()
    Json
      .parse(Native.measures(task, sums), "measures")
      .properties()
      .asScala
      .map(entry => entry.getKey -> entry.getValue.asDouble())
      .toMap
  }

  /** What is alive in the engine of this JVM, as JSON. */
  def liveResources: String = {
    NativeLoader.load()
    Native.liveResources()
  }
}
