package org.apache.spark.bloomery

/** What the connector keeps open in this JVM. */
object LiveResources {
  def predictors: Int = PredictorCache.size
  def arrowBytes: Long = ArrowMemory.allocatedBytes
}
