package org.apache.spark.bloomery

import org.apache.spark.sql.SparkSession

/** Settings of a session that are no params of an estimator. */
object Settings {
  val Prefix = "spark.bloomery."

  /** All of them. */
  val Keys: Seq[String] = Seq(Input.PathKey, WorkerNetwork.EncryptKey, WorkerNetwork.InterfaceKey)

  /** The way that rows are to take, unless the engine is to find it. */
  def inputPath(session: SparkSession): Option[String] = session.conf.getOption(Input.PathKey).filter(_ != "auto")
}
