package org.apache.spark.bloomery

import org.apache.spark.util.Utils

/** Spark's local directories of this JVM, which stay those of its first session until they are forgotten. */
object LocalRoots {
  def forget(): Unit = Utils.clearLocalRootDirs()
}
