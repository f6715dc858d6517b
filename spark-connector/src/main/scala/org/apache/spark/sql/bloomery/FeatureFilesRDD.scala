package org.apache.spark.sql.bloomery

import org.apache.spark.{OneToOneDependency, Partition, TaskContext}
import org.apache.spark.bloomery.{ArrowExport, FeatureScan}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.bloomery.InternalError

/**
 * Rows that are predicted from Parquet files. Each task looks at its files: where the engine can read the features, Spark
 * reads what goes on beside it, else Spark reads `all`. `predict` makes the rows of a partition.
 */
private[bloomery] final class FeatureFilesRDD(
    all: RDD[ColumnarBatch],
    files: FeatureFiles,
    columns: PredictedColumns,
    predict: (Int, PredictBatch) => Iterator[InternalRow],
    slices: Iterator[ColumnarBatch] => PredictBatch)
    extends RDD[InternalRow](all.sparkContext, (all +: files.rest.toSeq).map(new OneToOneDependency(_))) {

  override protected def getPartitions: Array[Partition] = all.partitions

  override protected def getPreferredLocations(split: Partition): Seq[String] = all.preferredLocations(split)

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val batch = partsOf(split).fold(slices(all.iterator(split, context))) { case (found, rows) =>
      val scan = new FeatureScan(files.spec.features, found, files.spec.configuration, context)
      val rest = files.rest.fold(Iterator.empty[ColumnarBatch])(_.iterator(split, context))
      new FeaturesOfFiles(columns, files, scan, rows, rest, context)
    }
    predict(split.index, batch)
  }

  /** What the engine can read of a partition, and the rows of that. */
  private[bloomery] def partsOf(split: Partition): Option[(Seq[ParquetPart], Long)] = split match {
    case pieces: FilePartition => files.spec.partsOf(pieces)
    case _ => None
  }
}

/** Features that the engine reads, and beside them what goes on of each row, which Spark reads. */
private[bloomery] final class FeaturesOfFiles(
    columns: PredictedColumns,
    files: FeatureFiles,
    scan: FeatureScan,
    totalRows: Long,
    batches: Iterator[ColumnarBatch],
    context: TaskContext)
    extends PredictBatch {

  private val toKept = UnsafeProjection.create(columns.kept.zip(files.ordinals).map { case (column, ordinal) =>
    BoundReference(ordinal, column.dataType, column.nullable)
  })
  private var batch = Option.empty[ColumnarBatch]
  private var first = 0 // row of that batch, counted from the first of ours
  private var count = 0
  private var rowsLeft = totalRows

  override def hasMore: Boolean = rowsLeft > 0
  override def numRows: Int = count

  override def apply(index: Int): UnsafeRow = {
    while (!batch.exists(index - first < _.numRows())) {
      first += batch.fold(0)(_.numRows())
      // Asking is what makes Spark's reader go to the next file.
      if (!batches.hasNext) throw new InternalError("Spark reads fewer rows of a file than its footer tells")
      batch = Some(batches.next())
    }
    toKept(batch.get.getRow(index - first))
  }

  override def next(features: ArrowExport)(consume: (Long, Int) => Unit): Unit = {
    first -= count
    count = 0
    scan.next { (address, rows) =>
      rowsLeft -= rows
      files.scanned += rows.toLong
      // Where Spark reads nothing else, nobody but we can tell what was read.
      if (columns.kept.isEmpty) context.taskMetrics().inputMetrics.incRecordsRead(rows.toLong)
      consume(address, rows)
      count = rows
    }
  }

  override def close(): Unit = {
    if (columns.kept.isEmpty) context.taskMetrics().inputMetrics.incBytesRead(scan.bytesRead)
    scan.close()
  }
}
