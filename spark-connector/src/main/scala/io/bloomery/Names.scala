package io.bloomery

import java.util.Locale
import org.apache.spark.unsafe.types.UTF8String

/** What to tell of a name that nothing has. */
private[bloomery] object Names {

  /** So many letters may be wrong in a short name; in a long one a third of them. */
  private val FewLetters = 2

  /** The known name that was probably meant, by the same rule as the engine's. */
  def nearest(name: String, known: Seq[String]): Option[String] = {
    val wanted = folded(name)
    val near = math.max(FewLetters, name.length / 3)
    known
      .map(each => each -> wanted.levenshteinDistance(folded(each)))
      .filter { case (each, distance) => distance <= near && distance < each.length }
      .minByOption(_._2)
      .map(_._1)
  }

  /** The end of a sentence about such a name; `what` are the known ones. */
  def hint(name: String, what: String, known: Seq[String]): String =
    nearest(name, known).fold(",")(each => s"; did you mean $each?") + s" $what: ${known.mkString(", ")}"

  private def folded(name: String): UTF8String =
    UTF8String.fromString(name.toLowerCase(Locale.ROOT).replaceAll("[_-]", ""))
}
