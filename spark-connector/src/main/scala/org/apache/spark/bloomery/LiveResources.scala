package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._

/** What the connector keeps open in this JVM. */
object LiveResources {
  def predictors: Int = PredictorCache.size
  def arrowBytes: Long = ArrowMemory.allocatedBytes
  def threads: Int = Thread.getAllStackTraces.keySet.asScala.count { thread =>
    Seq(KillWatch.ThreadName, CheckpointWriter.ThreadName, FitViews.ThreadName).exists(thread.getName.startsWith)
  }
}
