package org.apache.spark.sql.bloomery

import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FileFormat, FileIndex, FileStatusWithMetadata}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types._

/** A file of a scan, with the values that its folders give to the partition columns. */
private[spark] final case class ScannedFile(
    index: Int,
    status: FileStatusWithMetadata,
    partition: InternalRow)

/**
 * A DataFrame that is nothing but columns of Parquet files: no row is filtered, computed or moved
 * after it was read. `columns` pairs each column, in the type that training takes, with its name
 * in the files.
 */
private[spark] final class BareScan(
    selected: classic.Dataset[Row],
    child: LogicalPlan,
    val scan: FileSourceScanExec,
    val columns: Seq[(StructField, String)]) {

  /** All files, in the order of their paths, which gives their rows' ids. */
  lazy val files: Seq[ScannedFile] = BareScan.filesOf(scan)

  /** The selected columns with two more: path of the file, and number of the row in it. */
  def withPlaces: classic.Dataset[Row] = {
    val columns = selected.queryExecution.analyzed.asInstanceOf[Project].projectList
    classic.Dataset.ofRows(selected.sparkSession, Project(columns ++ BareScan.places, child))
  }
}

private[spark] object BareScan {

  /** The scan behind the columns that a fit selected, or why there is none. */
  def of(selected: classic.Dataset[Row]): Either[String, BareScan] =
    selected.queryExecution.analyzed match {
      case Project(columns, child) =>
        for {
          sources <- all(columns.map(sourceOf))
          shown = sources.distinct
          plan = selected.sparkSession.sessionState.executePlan(Project(shown, child)).sparkPlan
          found <- scanIn(plan)
          (scan, names) = found
          _ <- refusal(scan).toLeft(())
        } yield {
          // By place: the optimizer may give a column another identity.
          val nameOf = shown.map(_.exprId).zip(names).toMap
          val named = sources.map(source => nameOf(source.exprId))
          new BareScan(selected, child, scan, selected.schema.zip(named))
        }
      case _ => Left(NotBare)
    }

  /** The path of a row's file, and the row's number there, as columns above a scan. */
  private[bloomery] def places: Seq[NamedExpression] = Seq("file_path", "row_index").map { name =>
    Alias(UnresolvedAttribute(Seq("_metadata", name)), s"bloomery_$name")()
  }

  /** All files of a scan, in the order of their paths. */
  private[bloomery] def filesOf(scan: FileSourceScanExec): Seq[ScannedFile] =
    scan.relation.location
      .listFiles(scan.partitionFilters, Seq.empty)
      .flatMap(folder => folder.files.map(folder.values -> _))
      .filter { case (_, file) => file.getLen > 0 }
      .sortBy { case (_, file) => file.getPath.toString }
      .zipWithIndex
      .map { case ((values, file), index) => ScannedFile(index, file, values) }

  /** Whether files are found by listing folders, as Spark itself does it. */
  def isSparksOwn(location: FileIndex): Boolean =
    location.getClass.getName.startsWith("org.apache.spark.sql.execution.datasources.")

  private val Filtered = "its rows are filtered"
  private val NotBare = "the DataFrame is more than columns of Parquet files"

  /** The attribute that a selected column shows as it is, or as doubles where it has decimals. */
  private def sourceOf(column: NamedExpression): Either[String, Attribute] = column match {
    case attribute: AttributeReference => Right(attribute)
    case Alias(cast: Cast, _) if ParquetTypes.withoutDecimals(cast.child.dataType) == cast.dataType =>
      cast.child match {
        case attribute: AttributeReference => Right(attribute)
        case _ => Left(s"column ${column.name} is computed")
      }
    case other => Left(s"column ${other.name} is converted")
  }

  /** The scan, and the name in it of each column of the plan. */
  private def scanIn(plan: SparkPlan): Either[String, (FileSourceScanExec, Seq[String])] =
    plan match {
      case scan: FileSourceScanExec => Right(scan -> scan.output.map(_.name))
      case ProjectExec(columns, scan: FileSourceScanExec) =>
        all(columns.map {
          case attribute: AttributeReference => Right(attribute.exprId)
          case Alias(attribute: AttributeReference, _) => Right(attribute.exprId)
          case other => Left(s"column ${other.name} is computed")
        }).map { shown =>
          val names = scan.output.map(attribute => attribute.exprId -> attribute.name).toMap
          scan -> shown.map(names)
        }
      case ProjectExec(_, _: FilterExec) | _: FilterExec => Left(Filtered)
      case _ => Left(NotBare)
    }

  /** Why rows of this scan may be others than those in its files, as far as the plan tells. */
  private[bloomery] def refusal(scan: FileSourceScanExec): Option[String] =
    refusalOfFiles(scan).orElse(Option.when(scan.dataFilters.nonEmpty)(Filtered))

  /** Why its files, or what they hold, may be others than those that it lists, as far as the plan tells. */
  private[bloomery] def refusalOfFiles(scan: FileSourceScanExec): Option[String] = {
    val relation = scan.relation
    Seq(
      (relation.fileFormat.getClass != classOf[ParquetFileFormat]) -> otherFormat(relation.fileFormat),
      !isSparksOwn(relation.location) ->
        s"its files are listed by ${relation.location.getClass.getName}",
      scan.partitionFilters.exists(_.exists(_.isInstanceOf[PlanExpression[_]])) ->
        "its folders are chosen by a query",
      relation.bucketSpec.nonEmpty -> "its files are bucketed").collectFirst {
      case (true, why) => why
    }
  }

  private def otherFormat(format: FileFormat): String = format match {
    case parquet: ParquetFileFormat => s"its files are read by ${parquet.getClass.getName}"
    case other => s"its files are of another format: $other"
  }

  private def all[T](results: Seq[Either[String, T]]): Either[String, Seq[T]] =
    results.collectFirst { case Left(why) => why }.toLeft(results.collect { case Right(value) => value })
}
