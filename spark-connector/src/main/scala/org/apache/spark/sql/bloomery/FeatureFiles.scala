package org.apache.spark.sql.bloomery

import scala.util.{Try, Using}

import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.bloomery.Settings
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/**
 * A scan of Parquet files whose features the engine can read by itself, where a task finds its files to be such that it
 * reads what Spark would. `rest` are the batches of the same scan without them, for what goes on beside the predictions,
 * with the places of those columns there, if there are any: Spark cuts both into the same partitions, and rows have the
 * same order in both. `scanned` counts the rows for Spark's UI.
 */
private[bloomery] final case class FeatureFiles(
    spec: FeatureSpec,
    rest: Option[RDD[ColumnarBatch]],
    ordinals: Seq[Int],
    scanned: SQLMetric)

/** What tasks need to know of such a scan: the features, with their name in the files. */
private[bloomery] final case class FeatureSpec(features: StructField, configuration: SerializableConfiguration) {

  /** The parts of a task's files and their rows, or nothing where Spark has to read them. */
  def partsOf(partition: FilePartition): Option[(Seq[ParquetPart], Long)] = Try {
    val parts = partition.files.toSeq.map(partOf)
    Option.when(parts.forall(_.isDefined)) {
      val (found, rows) = parts.flatten.unzip
      (found.filter(_.rowGroups.nonEmpty), rows.sum)
    }
  }.toOption.flatten // Spark tells what is wrong with a file.

  /** The row groups of a piece of a file as Spark's reader finds them, unless it would read other values there. */
  private def partOf(piece: PartitionedFile): Option[(ParquetPart, Long)] = {
    val path = piece.toPath
    val status = path.getFileSystem(configuration.value).getFileStatus(path)
    val options = HadoopReadOptions
      .builder(configuration.value, path)
      .withRange(piece.start, piece.start + piece.length)
      .build()
    val file = HadoopInputFile.fromStatus(status, configuration.value)
    val footer = Using.resource(ParquetFileReader.open(file, options))(_.getFooter)
    val isSame = status.getLen == piece.fileSize && status.getModificationTime == piece.modificationTime
    Option.when(isSame && ParquetPlan.difference(footer, Seq(features), FeatureSpec.NoRebase).isEmpty) {
      val groups = footer.getBlocks.asScala.toSeq.filter(_.getRowCount > 0)
      ParquetPart(
        0,
        path.toString,
        status.getLen,
        status.getModificationTime,
        groups.map(_.getOrdinal).toArray,
        InternalRow.empty) -> groups.map(_.getRowCount).sum
    }
  }
}

private[bloomery] object FeatureSpec {

  /** Features have no dates. */
  private val NoRebase = "EXCEPTION"
}

private[bloomery] object FeatureFiles {

  /** The engine hands over up to 64 Ki rows at once; so many floats of each are 64 MB. */
  private val MaxWidth = 256

  def of(columns: PredictedColumns, found: ColumnarScan, rowWidth: Int): Option[FeatureFiles] = found.source match {
    case scan: FileSourceScanExec if rowWidth <= MaxWidth && BareScan.refusal(scan).isEmpty =>
      val features = scan.output(found.ordinals(columns.featuresOrdinal))
      val kept = columns.kept.map(column => scan.output(found.ordinals(columns.ordinalOf(column))).exprId)
      // A copy of all settings of Hadoop, which only a scan that may be read needs.
      lazy val configuration = scan.session.sessionState.newHadoopConfWithOptions(scan.relation.options)
      val canRead = Settings.inputPath(scan.session).forall(Set("parquet", "mixed")) &&
        isQuick(features.dataType) &&
        scan.relation.dataSchema.fieldNames.contains(features.name) &&
        scan.requiredSchema.fieldNames.count(_ == features.name) == 1 &&
        !kept.contains(features.exprId) &&
        ParquetPlan.settings(scan.conf, scan.relation.options, configuration).isEmpty
      Option
        .when(canRead) {
          val rest = without(scan, features)
          FeatureFiles(
            FeatureSpec(scan.relation.dataSchema(features.name), new SerializableConfiguration(configuration)),
            Option.when(kept.nonEmpty)(rest.executeColumnar()),
            kept.map(id => rest.output.indexWhere(_.exprId == id)),
            scan.longMetric("numOutputRows"))
        }
        .filter(_.rest.forall(isCutAs(found.rdd, _)))
    case _ => None
  }

  private def isCutAs(one: RDD[ColumnarBatch], other: RDD[ColumnarBatch]): Boolean = {
    def pieces(rdd: RDD[ColumnarBatch]): Seq[Any] = rdd.partitions.toSeq.map {
      case partition: FilePartition => partition.files.toSeq.map(piece => (piece.filePath, piece.start, piece.length))
      case other => other
    }
    pieces(one) == pieces(other)
  }

  /** Columns that the engine decodes straight from their pages. */
  @tailrec
  private def isQuick(dataType: DataType): Boolean = dataType match {
    case BinaryType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case ArrayType(element, _) => isQuick(element)
    case _ => false
  }

  /** By place: the constructor differs between versions of Spark. */
  private def without(scan: FileSourceScanExec, column: Attribute): SparkPlan =
    scan.makeCopy(scan.productIterator.map {
      case output: AnyRef if output eq scan.output => scan.output.filterNot(_.exprId == column.exprId)
      case schema: AnyRef if schema eq scan.requiredSchema =>
        StructType(scan.requiredSchema.filterNot(_.name == column.name))
      case other => other.asInstanceOf[AnyRef]
    }.toArray)
}
