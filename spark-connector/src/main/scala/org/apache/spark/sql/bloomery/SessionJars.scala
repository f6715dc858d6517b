package org.apache.spark.sql.bloomery

import io.bloomery.UserError
import org.apache.spark.sql.{classic, SparkSession}

/** Where a session has Bloomery's classes from. */
object SessionJars {

  /**
   * Refuses a jar that a session alone has, by `addArtifacts` or ADD JAR: on the driver what workers say is read by
   * threads of Spark that know the application's classes only. In local mode nothing is read.
   */
  def check(session: SparkSession): Unit = {
    val ours = getClass.getProtectionDomain.getCodeSource.getLocation
    val added = session.asInstanceOf[classic.SparkSession].artifactManager.getAddedJars
    if (!session.sparkContext.isLocal && added.exists(_.toExternalForm == ours.toExternalForm)) {
      throw new UserError(
        "Bloomery's jar came with a session's artifacts, which all of Spark does not see, so it cannot fit on a cluster:" +
          " start Spark, or the server of Spark Connect, with --jars and the jar")
    }
  }
}
