package org.apache.spark.ml.bloomery

import io.bloomery.{BloomeryException, UserError}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.ml.param.Params
import org.apache.spark.ml.util.{DefaultParamsReader, DefaultParamsWriter}
import org.apache.spark.sql.{classic, SparkSession}
import scala.util.control.NonFatal

/** Spark ML's own part of a saved model: class, uid and params under `metadata`. */
object ModelMetadata {
  def save(instance: Params, path: String, session: SparkSession): Unit =
    DefaultParamsWriter.saveMetadata(instance, path, session)

  /** Makes the instance for the saved uid and sets its params; a UserError when it is not of this class. */
  def load[T <: Params](path: String, session: SparkSession, className: String, make: String => T): T = {
    val metadata = read(path, session, className)
    val instance = make(metadata.uid)
    metadata.getAndSetParams(instance)
    instance
  }

  /** An estimator of this class, which Spark makes by itself. */
  def loadEstimator[T <: Params](path: String, session: SparkSession, className: String): T = {
    val folder = new Path(path)
    if (!folder.getFileSystem(hadoopConf(session)).exists(folder)) {
      throw new UserError(s"No such folder of a saved estimator: $path")
    }
    try read(path, session, className)
    catch {
      case error: BloomeryException => throw error
      case NonFatal(error) =>
        throw new UserError(s"Not a saved estimator, or its saving did not end: $path, $error").initCause(error)
    }
    new DefaultParamsReader[T].session(session).load(path)
  }

  private def read(path: String, session: SparkSession, className: String): DefaultParamsReader.Metadata = {
    val metadata = DefaultParamsReader.loadMetadata(path, session)
    if (metadata.className != className) {
      throw new UserError(
        s"Another class was saved here; load it with ${metadata.className.split('.').last}, not" +
          s" ${className.split('.').last}: $path")
    }
    metadata
  }

  /** Hadoop's settings with those of the session on top. */
  def hadoopConf(session: SparkSession): Configuration =
    session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf()
}
