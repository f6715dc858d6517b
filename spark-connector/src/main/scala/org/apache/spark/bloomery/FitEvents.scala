package org.apache.spark.bloomery

import scala.collection.mutable

import org.apache.spark.internal.Logging

/** Something that happened in a fit and that the user should know, so many seconds after it began. */
final case class FitEvent(seconds: Double, text: String)

/** Tells the user what happens in a fit: in the log, on the progress line, and in the summary. */
private[bloomery] final class FitEvents(say: String => Unit) extends Logging {
  private val started = System.nanoTime()
  private val events = mutable.ListBuffer.empty[FitEvent]

  def add(text: String): Unit = synchronized {
    logWarning(text)
    say(text)
    events += FitEvent((System.nanoTime() - started) / 1e9, text)
    ()
  }

  def all: Seq[FitEvent] = synchronized(events.toList)
}
