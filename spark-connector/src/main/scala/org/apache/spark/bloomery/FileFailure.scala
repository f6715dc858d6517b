package org.apache.spark.bloomery

import java.io.InterruptedIOException
import java.net.{SocketException, URI, UnknownHostException}
import java.nio.channels.ClosedChannelException

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.bloomery.ParquetPlan

import io.bloomery.UserError

/** What Spark's readers say of a file that they cannot read, in the words of the way without them. */
private[bloomery] object FileFailure {
  private val Condition = "FAILED_READ_FILE"

  /** One sentence with Spark's failure as its cause; nothing where it is of something else, or may pass. */
  def inWords(error: Throwable): Option[UserError] =
    ofFile(error).filterNot(mayPass).map { failure =>
      val told = sentence(failure)
      told.initCause(error)
      told
    }

  /** Whether reading again may help: the file is as it was, and the way to it was not. */
  def mayPass(error: Throwable): Boolean =
    ofFile(error).exists(causes(_).exists {
      case _: SocketException | _: UnknownHostException => true
      case _: InterruptedIOException | _: ClosedChannelException => true
      case _ => false
    })

  private def ofFile(error: Throwable): Option[Throwable with SparkThrowable] = causes(error).collectFirst {
    case failure: SparkThrowable if Option(failure.getCondition).exists(_.startsWith(Condition)) =>
      failure.asInstanceOf[Throwable with SparkThrowable]
  }

  private def causes(error: Throwable): Iterator[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(Option(_).isDefined)

  private def sentence(failure: Throwable with SparkThrowable): UserError = {
    val told = failure.getMessageParameters.asScala
    val path = plain(told.getOrElse("path", ""))
    failure.getCondition.stripPrefix(s"$Condition.") match {
      case "FILE_NOT_EXIST" => ParquetPlan.vanished(path)
      case "PARQUET_COLUMN_DATA_TYPE_MISMATCH" =>
        // A nested one as a list of names, the column's first.
        val column = told.getOrElse("column", "").stripPrefix("[").stripSuffix("]").takeWhile(_ != ',')
        new UserError(
          s"Wrong type of column '$column': ${told.getOrElse("actualType", "")}, wanted" +
            s" ${told.getOrElse("expectedType", "")}, file $path; write all files with one type, or read them apart" +
            " and cast")
      case _ => ParquetPlan.unreadable(path, Option(failure.getCause).getOrElse(failure))
    }
  }

  /** As paths are told elsewhere; Spark has it as a URL. */
  private def plain(path: String): String = Try(new Path(new URI(path)).toString).getOrElse(path)
}
