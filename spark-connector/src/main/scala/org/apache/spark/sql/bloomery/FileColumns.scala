package org.apache.spark.sql.bloomery

import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.spark.sql.types.{StructField, StructType}

import scala.jdk.CollectionConverters._

/**
 * Columns that the engine reads from Parquet files: as the DataFrame shows them, with their names in the files, and
 * those of these whose texts all files keep in dictionaries.
 */
private[spark] final case class FileColumns(shown: StructType, names: Seq[String], encodedTexts: Set[String])

private[spark] object FileColumns {

  /** Each as it is shown, and as the files have it. */
  def of(columns: Seq[(StructField, StructField)], footers: Seq[ParquetMetadata]): FileColumns = {
    val (shown, inFiles) = columns.unzip
    FileColumns(StructType(shown), inFiles.map(_.name), encodedTexts(inFiles, footers))
  }

  /** The columns of texts that are in dictionaries, whole, in all row groups. */
  private def encodedTexts(columns: Seq[StructField], footers: Seq[ParquetMetadata]): Set[String] = {
    val texts = columns.filter(column => ParquetTypes.isText(column.dataType)).map(_.name).toSet
    val chunks = footers.flatMap(_.getBlocks.asScala).flatMap(_.getColumns.asScala)
    texts -- chunks.filterNot(ParquetTypes.isEncoded).map(_.getPath.toArray.head)
  }
}
