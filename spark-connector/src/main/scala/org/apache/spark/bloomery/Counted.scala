package org.apache.spark.bloomery

/** A number with what it counts: "1 file", "2 files". */
private[bloomery] object Counted {
  def apply(number: Int, one: String): String = if (number == 1) s"1 $one" else s"$number ${one}s"
}
