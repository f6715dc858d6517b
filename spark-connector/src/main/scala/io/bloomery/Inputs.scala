package io.bloomery

import io.bloomery.engine.Json

/** The inputs of a network, each with the columns that fill it; a single one needs no name. */
private[bloomery] final class Inputs private (byName: Seq[(Option[String], Seq[FeatureColumn])]) {

  /** The columns of all inputs, one after the other. */
  def columns: Seq[FeatureColumn] = byName.flatMap(_._2)

  /** The same, each with the place of its input among the network's. */
  def columnsByInput: Seq[(Int, FeatureColumn)] =
    byName.zipWithIndex.flatMap { case ((_, columns), index) => columns.map(index -> _) }

  /** As the engine's task has them. */
  def json: (String, Any) = byName match {
    case Seq((None, columns)) => "features" -> Inputs.oneOrList(columns)
    case several =>
      "inputs" -> Json.obj(several.collect { case (Some(name), columns) => name -> Inputs.oneOrList(columns) }: _*)
  }
}

private[bloomery] object Inputs {
  def one(columns: Seq[FeatureColumn]): Inputs = new Inputs(Seq(None -> columns))

  def named(byName: Seq[(String, Seq[FeatureColumn])]): Inputs =
    new Inputs(byName.map { case (name, columns) => Some(name) -> columns })

  private def oneOrList(columns: Seq[FeatureColumn]): Any = columns.map(_.json) match {
    case Seq(one) => one
    case several => several
  }
}
