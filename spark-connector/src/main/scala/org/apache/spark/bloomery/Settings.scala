package org.apache.spark.bloomery

/** Settings of a session that are no params of an estimator. */
object Settings {
  val Prefix = "spark.bloomery."

  /** All of them. */
  val Keys: Seq[String] = Seq(Input.PathKey, WorkerNetwork.EncryptKey, WorkerNetwork.InterfaceKey)
}
