package io.bloomery.network

import scala.language.implicitConversions

/**
 * An option of a layer that may be left out: what is left out is not written, and the engine's
 * default holds. Plain values convert by themselves, so that users never see this type.
 */
sealed trait Setting[+A] {
  def toOption: Option[A]
}

object Setting {
  case object Default extends Setting[Nothing] {
    override def toOption: Option[Nothing] = None
  }

  final case class Value[A](value: A) extends Setting[A] {
    override def toOption: Option[A] = Some(value)
  }

  implicit def fromValue[A](value: A): Setting[A] = Value(value)
  implicit def sizeFromNumber(side: Int): Setting[Size] = Value(Size(Seq(side)))
  implicit def sizeFromPair(sides: (Int, Int)): Setting[Size] = Value(Size(Seq(sides._1, sides._2)))
}

/** Height and width, or one number for both. */
final case class Size(sides: Seq[Int])

object Size {
  implicit def fromNumber(side: Int): Size = Size(Seq(side))
  implicit def fromPair(sides: (Int, Int)): Size = Size(Seq(sides._1, sides._2))
}

/** The shape of one sample, channels last. */
final case class Shape(dimensions: Seq[Int])

object Shape {
  implicit def fromNumber(d: Int): Shape = Shape(Seq(d))
  implicit def fromPair(d: (Int, Int)): Shape = Shape(Seq(d._1, d._2))
  implicit def fromTriple(d: (Int, Int, Int)): Shape = Shape(Seq(d._1, d._2, d._3))
  implicit def fromSeq(d: Seq[Int]): Shape = Shape(d)
}

/** Zeros around an image, as the user wrote them. */
final case class Margins private (json: Any)

object Margins {
  implicit def fromNumber(all: Int): Margins = Margins(all)
  implicit def fromPair(m: (Int, Int)): Margins = Margins(Seq(m._1, m._2))
  implicit def fromPairs(m: ((Int, Int), (Int, Int))): Margins =
    Margins(Seq(Seq(m._1._1, m._1._2), Seq(m._2._1, m._2._2)))
}
