package org.apache.spark.bloomery

import java.io.IOException

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.{SparkException, TaskKilledException}
import org.apache.spark.shuffle.FetchFailedException
import org.apache.spark.util.Utils

import io.bloomery.BloomeryException

/**
 * What went wrong on a worker, in a shape that survives the way to the driver even when the
 * exception itself cannot be serialised.
 */
private[bloomery] final case class Failure(
    className: String,
    message: String,
    serialized: Option[Array[Byte]]) {

  /** The exception as the driver throws it; one of ours tells where the user called. */
  def toThrowable: Throwable =
    serialized.flatMap(Failure.read) match {
      case Some(ours: BloomeryException) => ours.fillInStackTrace()
      case Some(theirs) => theirs
      case None => new SparkException(s"$className: $message")
    }
}

private[bloomery] object Failure {
  def apply(error: Throwable): Failure = {
    // What cannot be read back here would not be on the driver either.
    val serialized = Try(Utils.serialize(error)).toOption.filter(read(_).isDefined)
    Failure(error.getClass.getName, String.valueOf(error.getMessage), serialized)
  }

  /** Whether Spark has to see this exception, to run the stage again or to end the task. */
  def belongsToSpark(error: Throwable): Boolean = error match {
    case _: TaskKilledException | _: FetchFailedException | _: IOException => true
    case NonFatal(_) =>
      Option(error.getCause).exists(_.isInstanceOf[FetchFailedException]) || FileFailure.mayPass(error)
    case _ => true
  }

  private def read(bytes: Array[Byte]): Option[Throwable] =
    Try(Utils.deserialize[Throwable](bytes, Utils.getContextOrSparkClassLoader)).toOption
}
