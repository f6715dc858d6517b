package org.apache.spark.sql.bloomery

import org.apache.spark.bloomery.{ArrowExport, PredictSpec}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.bloomery.Images

/** Plans `Predict`; appended to a session's strategies the first time a model transforms there. */
private[bloomery] object PredictStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Predict(features, predictions, kinds, keepsFeatures, spec, child) =>
      Seq(PredictExec(features, predictions, kinds, keepsFeatures, spec, planLater(child)))
    case _ => Nil
  }
}

/** Predicts its child's rows a batch at a time, inside the child's own stage. */
private[bloomery] final case class PredictExec(
    features: Attribute,
    predictions: Seq[Attribute],
    kinds: Seq[PredictionKind],
    keepsFeatures: Boolean,
    spec: PredictSpec,
    child: SparkPlan)
    extends UnaryExecNode {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "predictTime" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time in the engine"))

  override def output: Seq[Attribute] = kept ++ predictions
  override def producedAttributes: AttributeSet = AttributeSet(predictions)
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = {
    val spec = this.spec
    val columns = PredictedColumns(features, child.output, kept, predictions.zip(kinds).map(Made.tupled))
    val (numRows, predictTime) = (longMetric("numOutputRows"), longMetric("predictTime"))
    val maxRows = ArrowExport.rowsPerBatch(spec.rowBytes)
    columnar match {
      case Some(scan) =>
        val ordinals = scan.ordinals
        val featuresOrdinal = ordinals(columns.featuresOrdinal)
        val slices = (batches: Iterator[ColumnarBatch]) => new SlicesToPredict(columns, ordinals, batches, maxRows)
        val predict = (partition: Int, source: PredictBatch) =>
          new PredictIterator(spec, columns, featuresOrdinal, partition, source, numRows, predictTime)
        FeatureFiles
          .of(columns, scan, spec.rowWidth)
          .fold(scan.rdd.mapPartitionsWithIndex((partition, batches) => predict(partition, slices(batches))))(
            new FeatureFilesRDD(scan.rdd, _, columns, predict, slices))
      case None =>
        child.execute().mapPartitionsWithIndex { (partition, rows) =>
          val source = new RowsToPredict(columns, rows, maxRows)
          new PredictIterator(spec, columns, columns.featuresOrdinal, partition, source, numRows, predictTime)
        }
    }
  }

  /** Spark's columnar batches, where only the choice of columns stands between them and this. */
  private[bloomery] def columnar: Option[ColumnarScan] = features.dataType match {
    // Its fields are columns of the engine, and need not stand where their struct does.
    case struct: StructType if !Images.isImage(struct) => None
    case _ => ColumnarScan.of(child).toOption
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PredictExec = copy(child = newChild)

  private def kept: Seq[Attribute] = Predict.kept(child.output, features, keepsFeatures)
}
