package org.apache.spark.bloomery

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.{BaseFixedWidthVector, BaseVariableWidthVector, FieldVector, ValueVector}
import org.apache.arrow.vector.complex.{ListVector, StructVector}

/**
 * How much memory the vectors of a batch get: as much as the largest batch before filled and a
 * little more, since a vector that has to grow copies and clears what it holds.
 */
private[bloomery] final class ArrowRoom {

  /** Bytes of texts and elements of lists, in the order in which the vectors are walked. */
  private var sizes: Seq[Long] = Nil

  def allocate(vectors: Seq[FieldVector], rows: Int): Unit = {
    val known = sizes.iterator
    vectors.foreach(allocate(_, rows, known))
  }

  /** From vectors that are filled. */
  def learn(vectors: Seq[FieldVector]): Unit =
    sizes = vectors.flatMap(sizesOf).zipAll(sizes, 0L, 0L).map { case (filled, known) => math.max(filled, known) }

  private def allocate(vector: ValueVector, values: Int, known: Iterator[Long]): Unit = vector match {
    case texts: BaseVariableWidthVector => texts.allocateNew(nextOf(known, values.toLong), values)
    case fixed: BaseFixedWidthVector => fixed.allocateNew(values)
    case list: ListVector =>
      list.setInitialCapacity(values)
      list.allocateNew()
      allocate(list.getDataVector, nextOf(known, values.toLong).toInt, known)
    case struct: StructVector =>
      struct.setInitialCapacity(values)
      struct.allocateNew()
      struct.getChildrenFromFields.asScala.foreach(allocate(_, values, known))
    case other => other.allocateNew()
  }

  private def nextOf(known: Iterator[Long], otherwise: Long): Long =
    if (known.hasNext) known.next() else otherwise

  private def sizesOf(vector: ValueVector): Seq[Long] = vector match {
    case texts: BaseVariableWidthVector => Seq(withSlack(texts.sizeOfValueBuffer().toLong))
    case list: ListVector => withSlack(list.getDataVector.getValueCount.toLong) +: sizesOf(list.getDataVector)
    case struct: StructVector => struct.getChildrenFromFields.asScala.toSeq.flatMap(sizesOf)
    case _ => Nil
  }

  /** What differs a little from batch to batch fits still. */
  private def withSlack(size: Long): Long = size + size / 16
}
