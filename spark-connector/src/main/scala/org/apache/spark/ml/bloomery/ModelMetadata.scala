package org.apache.spark.ml.bloomery

import org.apache.hadoop.conf.Configuration
import org.apache.spark.ml.param.Params
import org.apache.spark.ml.util.{DefaultParamsReader, DefaultParamsWriter}
import org.apache.spark.sql.{classic, SparkSession}

/** Spark ML's own part of a saved model: class, uid and params under `metadata`. */
object ModelMetadata {
  def save(instance: Params, path: String, session: SparkSession): Unit =
    DefaultParamsWriter.saveMetadata(instance, path, session)

  /** Makes the instance for the saved uid and sets its params. */
  def load[T <: Params](path: String, session: SparkSession, make: String => T): T = {
    val metadata = DefaultParamsReader.loadMetadata(path, session)
    val instance = make(metadata.uid)
    metadata.getAndSetParams(instance)
    instance
  }

  /** Hadoop's settings with those of the session on top. */
  def hadoopConf(session: SparkSession): Configuration =
    session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf()
}
