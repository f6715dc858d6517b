package org.apache.spark.sql.bloomery

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.LocatedFileStatus
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{FileMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.{classic, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.util.{SerializableConfiguration, ThreadUtils}

import io.bloomery.UserError
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}

/**
 * Row groups of one file for one worker. `index` is the file's place in the scan, `constants` the
 * values of the plan's constant columns; size and time are those of the file that was planned with.
 */
private[spark] final case class ParquetPart(
    index: Int,
    path: String,
    size: Long,
    modified: Long,
    rowGroups: Array[Int],
    constants: InternalRow)

/**
 * How workers read a bare scan of Parquet files without Spark's reader: the columns in the files, those
 * that are constant in each file, and for each worker its parts and the hosts that hold most of them.
 */
private[spark] final case class ParquetPlan(
    fileColumns: FileColumns,
    constantColumns: StructType,
    workers: Seq[Seq[ParquetPart]],
    hosts: Seq[Seq[String]],
    configuration: SerializableConfiguration,
    numFiles: Int,
    rowsOfWorkers: Seq[Long]) {
  def numRows: Long = rowsOfWorkers.sum
}

private[spark] object ParquetPlan {
  private val MaxReaders = 8
  private val MaxHosts = 3

  /** The plan for the columns that a fit selected, or why Spark has to read them. */
  def of(selected: classic.Dataset[Row], numWorkers: Int): Either[String, ParquetPlan] =
    BareScan.of(selected).flatMap(of(selected, _, numWorkers))

  private final case class RowGroup(file: Int, index: Int, rows: Long, hosts: Seq[String])

  private def of(
      selected: classic.Dataset[Row],
      bare: BareScan,
      numWorkers: Int): Either[String, ParquetPlan] = {
    val relation = bare.scan.relation
    val configuration = selected.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
    val partitionNames = relation.partitionSchema.fieldNames.toSeq
    val (constants, inFiles) = bare.columns.partition { case (_, name) => partitionNames.contains(name) }
    for {
      _ <- settings(selected.sparkSession.sessionState.conf, relation.options, configuration).toLeft(())
      _ <- types(relation.schema, inFiles, constants).toLeft(())
      columns = inFiles.map { case (shown, name) => shown -> relation.dataSchema(name) }
      footers <- footers(bare.files, columns.map(_._2), bare.scan, configuration)
    } yield {
      val groups = rowGroups(bare.files, footers)
      val ordinals = constants.map { case (_, name) => partitionNames.indexOf(name) -> relation.partitionSchema(name) }
      val workers = deal(groups.map(_.rows), numWorkers).map(_.map(groups(_)))
      ParquetPlan(
        FileColumns.of(columns, footers),
        StructType(constants.map { case (field, _) => field }),
        workers.map(parts(_, bare.files, ordinals)),
        workers.map(hostsOf),
        new SerializableConfiguration(configuration),
        bare.files.size,
        workers.map(_.map(_.rows).sum))
    }
  }

  /** What the session or the reader was told that the engine would not do. */
  private[bloomery] def settings(
      conf: SQLConf,
      options: Map[String, String],
      configuration: Configuration): Option[String] = {
    val chosen = CaseInsensitiveMap(options)
    def isOn(option: String, setting: Boolean): Boolean = chosen.get(option).fold(setting)(_.toBoolean)
    Seq(
      isOn("mergeSchema", conf.isParquetSchemaMergingEnabled) -> "mergeSchema is set",
      isOn("ignoreCorruptFiles", conf.ignoreCorruptFiles) -> "ignoreCorruptFiles is set",
      isOn("ignoreMissingFiles", conf.ignoreMissingFiles) -> "ignoreMissingFiles is set",
      conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED) -> "columns are matched by field id",
      Option(configuration.get("parquet.crypto.factory.class")).isDefined -> "its files may be encrypted")
      .collectFirst { case (true, why) => why }
  }

  private def types(
      schema: StructType,
      inFiles: Seq[(StructField, String)],
      constants: Seq[(StructField, String)]): Option[String] = {
    def unread(columns: Seq[(StructField, String)], isRead: DataType => Boolean) =
      columns.collectFirst {
        case (_, name) if !isRead(schema(name).dataType) =>
          s"column $name is ${schema(name).dataType.sql}"
      }
    if (inFiles.isEmpty) Some("all columns are those of folders")
    else unread(inFiles, ParquetTypes.isRead).orElse(unread(constants, ParquetTypes.isConstant))
  }

  /** Of all files, or what of one the engine would read otherwise than Spark. */
  private[bloomery] def footers(
      files: Seq[ScannedFile],
      columns: Seq[StructField],
      scan: FileSourceScanExec,
      configuration: Configuration): Either[String, Seq[ParquetMetadata]] = {
    val footers = readFooters(files, configuration)
    val rebaseMode = new ParquetOptions(scan.relation.options, scan.conf).datetimeRebaseModeInRead
    files
      .zip(footers)
      .flatMap { case (file, footer) =>
        difference(footer, columns, rebaseMode).map(why => s"$why, file ${file.status.getPath}")
      }
      .headOption
      .toLeft(footers)
  }

  private def readFooters(files: Seq[ScannedFile], configuration: Configuration): Seq[ParquetMetadata] =
    if (files.isEmpty) Seq.empty
    else
      ThreadUtils
        .parmap(files, "bloomery-footers", math.min(MaxReaders, files.size)) { file =>
          val input = HadoopInputFile.fromStatus(file.status.fileStatus, configuration)
          file.status -> Try(Using.resource(ParquetFileReader.open(input))(_.getFooter))
        }
        .map {
          case (_, Success(footer)) => footer
          case (file, Failure(_: FileNotFoundException)) => throw vanished(file.getPath.toString)
          case (file, Failure(error)) =>
            throw ChangedFiles
              .since(file.fileStatus, configuration)
              .getOrElse(unreadable(file.getPath.toString, error))
        }

  def vanished(path: String): UserError =
    new UserError(s"File is no longer there; refresh the DataFrame and fit again: $path")

  def unreadable(path: String, error: Throwable): UserError = {
    val what = if (path.endsWith(".parquet")) "Parquet file" else "file"
    new UserError(s"Not a readable $what; write it again or remove it: $path: ${firstLine(error)}")
  }

  private def firstLine(error: Throwable): String =
    Option(error.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(error.getClass.getName)

  /** What of a file the engine would read otherwise than Spark. */
  private[bloomery] def difference(
      footer: ParquetMetadata,
      columns: Seq[StructField],
      rebaseMode: String): Option[String] = {
    val schema = footer.getFileMetaData.getSchema
    def ofColumn(column: StructField): Option[String] =
      if (!schema.containsField(column.name)) Some(s"column ${column.name} is not in every file")
      else if (schema.getFields.asScala.count(_.getName.equalsIgnoreCase(column.name)) > 1)
        Some(s"column ${column.name} is there twice but for its case")
      else if (!ParquetTypes.holds(schema.getType(schema.getFieldIndex(column.name)), column.dataType))
        Some(s"column ${column.name} is not ${column.dataType.sql} in every file")
      else if (ParquetTypes.hasMoments(column.dataType) && movesMoments(footer, rebaseMode))
        Some(s"column ${column.name} may be of the old calendar")
      else None
    val codecs = footer.getBlocks.asScala.flatMap(_.getColumns.asScala.map(_.getCodec)).toSet
    if (footer.getFileMetaData.getEncryptionType != FileMetaData.EncryptionType.UNENCRYPTED)
      Some("a file is encrypted")
    else
      columns.flatMap(ofColumn).headOption.orElse {
        codecs.diff(ParquetTypes.Codecs).headOption.map(codec => s"a file is compressed with $codec")
      }
  }

  /** Whether Spark would look at dates and timestamps of this file before it gives them out. */
  private def movesMoments(footer: ParquetMetadata, rebaseMode: String): Boolean = {
    val metadata = footer.getFileMetaData.getKeyValueMetaData
    DataSourceUtils.datetimeRebaseSpec(metadata.get(_), rebaseMode).mode.toString != "CORRECTED"
  }

  private def rowGroups(files: Seq[ScannedFile], footers: Seq[ParquetMetadata]): Seq[RowGroup] =
    for {
      (file, footer) <- files.zip(footers)
      (block, index) <- footer.getBlocks.asScala.toSeq.zipWithIndex
      if block.getRowCount > 0
    } yield RowGroup(file.index, index, block.getRowCount, hostsAt(file, block.getStartingPos))

  private def hostsAt(file: ScannedFile, position: Long): Seq[String] = file.status.fileStatus match {
    case located: LocatedFileStatus =>
      located.getBlockLocations.toSeq
        .find(block => block.getOffset <= position && position < block.getOffset + block.getLength)
        .fold(Seq.empty[String])(_.getHosts.toSeq.filterNot(_ == "localhost"))
    case _ => Seq.empty
  }

  /**
   * For each worker the indices of its row groups, ascending: the largest first, each to the worker
   * with the fewest rows so far. A function of the sizes and the count alone.
   */
  private[bloomery] def deal(rows: Seq[Long], numWorkers: Int): Seq[Seq[Int]] = {
    val loads = Array.fill(numWorkers)(0L)
    val dealt = rows.indices.sortBy(i => (-rows(i), i)).map { group =>
      val worker = loads.indices.minBy(w => (loads(w), w))
      loads(worker) += rows(group)
      worker -> group
    }
    val groups = dealt.groupMap { case (worker, _) => worker } { case (_, group) => group }
    Seq.tabulate(numWorkers)(worker => groups.getOrElse(worker, Seq.empty).sorted)
  }

  private def parts(
      groups: Seq[RowGroup],
      files: Seq[ScannedFile],
      ordinals: Seq[(Int, StructField)]): Seq[ParquetPart] =
    groups.groupBy(_.file).toSeq.sortBy { case (file, _) => file }.map { case (index, ofFile) =>
      val file = files(index)
      ParquetPart(
        index,
        file.status.getPath.toString,
        file.status.getLen,
        file.status.getModificationTime,
        ofFile.map(_.index).toArray,
        InternalRow.fromSeq(ordinals.map { case (ordinal, field) => file.partition.get(ordinal, field.dataType) }))
    }

  private def hostsOf(groups: Seq[RowGroup]): Seq[String] =
    groups
      .flatMap(group => group.hosts.map(_ -> group.rows))
      .groupMapReduce { case (host, _) => host } { case (_, rows) => rows }(_ + _)
      .toSeq
      .sortBy { case (host, rows) => (-rows, host) }
      .take(MaxHosts)
      .map { case (host, _) => host }
}
