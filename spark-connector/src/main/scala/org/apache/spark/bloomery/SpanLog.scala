package org.apache.spark.bloomery

import scala.collection.mutable

/** The first and the last spans of a worker: how a training began and how it went, in bounded memory. */
private[bloomery] final class SpanLog(numFirst: Int, numLast: Int) {
  private val first = mutable.ArrayBuffer.empty[String]
  private val last = mutable.Queue.empty[String]

  def add(spans: Seq[String]): Unit = {
    val (early, late) = spans.splitAt(numFirst - first.size)
    first ++= early
    last ++= late
    last.dropInPlace(last.size - numLast)
    ()
  }

  def all: Seq[String] = first.toSeq ++ last
}
