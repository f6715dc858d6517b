package org.apache.spark.sql.bloomery

import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SampleExec, SparkPlan}
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.types.{BinaryType, DataType, StructField}
import org.apache.spark.util.SerializableConfiguration

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.Try

/** The row groups of a file that have rows: their numbers, and how many rows there are up to the end of each. */
private[spark] final case class FileGroups(
    index: Int,
    path: String,
    size: Long,
    modified: Long,
    rowGroups: Array[Int],
    ends: Array[Long])

/**
 * A DataFrame whose rows come out of Parquet files, filtered or with columns computed, in their order, and which carries
 * arrays, vectors, images or binaries of the files along as they are: the engine reads these `columns`, for the rows
 * that are left, and Spark all others. `rest` are those, with the path of the row's file and its place in it.
 */
private[spark] final case class PickedScan(
    rest: classic.Dataset[Row],
    columns: FileColumns,
    files: Seq[FileGroups],
    configuration: SerializableConfiguration)

private[spark] object PickedScan {

  /** For the columns that a fit selected, or why Spark has to read all of them. */
  def of(selected: classic.Dataset[Row]): Either[String, PickedScan] = selected.queryExecution.analyzed match {
    case Project(columns, child) =>
      for {
        found <- below(selected)
        (scan, carried) = found
        picked <- split(selected, columns, child, carried)
        (rest, columns) = picked
        plan <- planned(selected, scan, rest, columns)
      } yield plan
    case _ => Left(NotFiles)
  }

  private val NotFiles = "its rows do not come straight out of Parquet files"
  private val NothingWhole = "no arrays, vectors, images or binaries of its files come as they are"

  /** The scan, and for each selected column that it reads and the plan carries along the name in the files. */
  private def below(data: classic.Dataset[Row]): Either[String, (FileSourceScanExec, Seq[Option[String]])] =
    CarriedColumns.of(data.queryExecution.executedPlan)(leavesOrder).flatMap { found =>
      found.source match {
        case scan: FileSourceScanExec =>
          val names = scan.output.map(attribute => attribute.exprId -> attribute.name).toMap
          val inFiles = found.columns.map {
            case (_, attribute: AttributeReference) => names.get(attribute.exprId).filter(isInFiles(scan, _))
            case _ => None
          }
          BareScan.refusalOfFiles(scan).toLeft(scan -> inFiles)
        case _ => Left(NotFiles)
      }
    }

  /** Steps whose rows are some of their child's, each once and in the same order. */
  private def leavesOrder(step: SparkPlan): Boolean = step match {
    case _: FilterExec | _: EvalPythonExec => true
    case sample: SampleExec => !sample.withReplacement
    case _ => false
  }

  private def isInFiles(scan: FileSourceScanExec, name: String): Boolean =
    scan.relation.dataSchema.fieldNames.contains(name) && !scan.relation.partitionSchema.fieldNames.contains(name)

  /** The DataFrame without the columns that the engine reads, and these with their names in the files. */
  @tailrec
  private def split(
      selected: classic.Dataset[Row],
      columns: Seq[NamedExpression],
      child: LogicalPlan,
      carried: Seq[Option[String]]): Either[String, (classic.Dataset[Row], Seq[(StructField, String)])] = {
    val picked = selected.schema.zip(carried).map {
      case (field, Some(name)) if isWhole(field.dataType) => Some(field -> name)
      case _ => None
    }
    val others = columns.zip(picked).collect { case (column, None) => column }
    if (picked.flatten.isEmpty) Left(NothingWhole)
    else
      Try(classic.Dataset.ofRows(selected.sparkSession, Project(others ++ BareScan.places, child))).toOption match {
        case None => Left("its reader does not tell the places of rows")
        case Some(rest) =>
          // What decides about rows, or is computed with, Spark reads anyway.
          val read = below(rest).fold(_ => Set.empty[String], _._1.requiredSchema.fieldNames.toSet)
          val alone = carried.map(_.filterNot(read))
          if (alone == carried) Right(rest -> picked.flatten) else split(selected, columns, child, alone)
      }
  }

  /** Many bytes to a row: what is worth another reader. */
  private def isWhole(dataType: DataType): Boolean = dataType match {
    case BinaryType => true
    case other => ParquetTypes.isRead(other) && !ParquetTypes.isScalar(other)
  }

  private def planned(
      selected: classic.Dataset[Row],
      scan: FileSourceScanExec,
      rest: classic.Dataset[Row],
      columns: Seq[(StructField, String)]): Either[String, PickedScan] = {
    val relation = scan.relation
    val state = selected.sparkSession.sessionState
    val configuration = state.newHadoopConfWithOptions(relation.options)
    for {
      _ <- below(rest)
      _ <- ParquetPlan.settings(state.conf, relation.options, configuration).toLeft(())
      inFiles = columns.map { case (shown, name) => shown -> relation.dataSchema(name) }
      files = BareScan.filesOf(scan)
      footers <- ParquetPlan.footers(files, inFiles.map(_._2), scan, configuration)
    } yield PickedScan(
      rest,
      FileColumns.of(inFiles, footers),
      files.zip(footers).map { case (file, footer) => groups(file, footer) },
      new SerializableConfiguration(configuration))
  }

  private def groups(file: ScannedFile, footer: ParquetMetadata): FileGroups = {
    val blocks = footer.getBlocks.asScala.toSeq.zipWithIndex.filter { case (block, _) => block.getRowCount > 0 }
    FileGroups(
      file.index,
      file.status.getPath.toString,
      file.status.getLen,
      file.status.getModificationTime,
      blocks.map { case (_, index) => index }.toArray,
      blocks.scanLeft(0L) { case (rows, (block, _)) => rows + block.getRowCount }.tail.toArray)
  }
}
