package io.bloomery

import io.bloomery.engine.{Engine, Json}
import org.apache.spark.bloomery.LiveResources

/** What is alive in this JVM; all zero when nothing trains or predicts. */
object Diagnostics {

  /** The engine's handles, Arrow bytes and threads, and the connector's own, as JSON. */
  def liveResources(): String =
    Json
      .parse(Engine.liveResources, "live resources")
      .put("predictors", LiveResources.predictors)
      .put("jvmArrowBytes", LiveResources.arrowBytes)
      .put("jvmThreads", LiveResources.threads)
      .toString

  /** Versions and instruction set of the engine, as JSON. */
  def engineInfo(): String = Engine.info
}
