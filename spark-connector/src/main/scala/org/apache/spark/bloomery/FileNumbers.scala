package org.apache.spark.bloomery

import org.apache.spark.unsafe.types.UTF8String

import io.bloomery.{InternalError, UserError}

/** The numbers of a scan's files, by their paths. Used on one thread. */
private[bloomery] final class FileNumbers(numbers: Map[String, Int]) {
  private var lastPath = UTF8String.EMPTY_UTF8
  private var lastNumber = -1

  /** Rows of one file come after one another, so that its path is rarely looked up. */
  def of(path: UTF8String): Int = {
    if (path != lastPath) {
      // A copy, since the row's memory is used again.
      lastPath = path.copy()
      lastNumber = numbers.getOrElse(
        path.toString,
        throw new InternalError(s"Rows of a file that was not listed: $path"))
    }
    lastNumber
  }

  /** What is wrong with rows of the file of this number names it. */
  def naming(number: Int)(body: => Unit): Unit =
    try body
    catch {
      case error: UserError =>
        throw numbers.collectFirst { case (path, `number`) => error.of(s"file $path") }.getOrElse(error)
    }
}
