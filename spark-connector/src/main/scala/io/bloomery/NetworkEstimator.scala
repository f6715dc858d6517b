package io.bloomery

import io.bloomery.engine.{Description, Engine, Json}
import io.bloomery.network.Network
import org.apache.spark.bloomery.{TrainJob, TrainRequest, WorkerMemory}
import org.apache.spark.ml.Estimator
import org.apache.spark.ml.bloomery.ModelMetadata
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.{DefaultParamsWritable, MLWriter}
import org.apache.spark.sql.{Column, DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.types.StructType

/**
 * What all estimators share: one way from a DataFrame to trained weights. Each adds the params of its columns and says
 * which model it makes.
 */
abstract class NetworkEstimator[M <: NetworkModel[M]]
    extends Estimator[M]
    with TrainingParams
    with DefaultParamsWritable {
  private var callbacks = Seq.empty[EpochCallback]
  private var initial = Option.empty[NetworkModel[_]]

  protected def newModel(trained: TrainedNetwork, schema: StructType): M

  /** Whether labels may be values, several of them in a column. */
  protected def takesValues: Boolean

  /**
   * Called on the driver after each epoch, in this order; one that returns true ends the training, one that throws ends
   * the fit with its exception. They are not saved with the estimator.
   */
  def setCallbacks(callbacks: EpochCallback*): this.type = {
    this.callbacks = callbacks
    this
  }

  /** For Python, whose functions come as one. */
  private[bloomery] def withCallback(callback: EpochCallback): this.type = setCallbacks(callback)

  /** Training begins with the weights of this model; layers of other names begin anew. */
  def setInitialModel(model: NetworkModel[_]): this.type = {
    initial = Some(model)
    clear(initialModel)
  }

  override def fit(dataset: Dataset[_]): M = {
    val effective = withSessionDefaults(dataset.sparkSession)
    effective.train(dataset).setParent(this)
  }

  private def train(dataset: Dataset[_]): M = {
    val started = System.nanoTime()
    val outcome = TrainJob.run(select(dataset), request(dataset))
    val seconds = (System.nanoTime() - started) / 1e9
    val summary =
      TrainingSummary(outcome.workerHistory, seconds, $(numWorkers), outcome.timeline, outcome.input, outcome.events)
    copyValues(newModel(TrainedNetwork(Network.fromJson($(network)), outcome.weights, summary), dataset.schema))
  }

  /**
   * What `fit` would do with this data, as text: which way the rows come and to which worker, what becomes of each
   * column, when the first step is, memory, threads, and whether a repeated fit gives the same bits. No job runs.
   */
  def describe(dataset: Dataset[_]): String = {
    val effective = withSessionDefaults(dataset.sparkSession)
    val request = effective.request(dataset)
    new FitDescription(effective, dataset.schema, dataset.sparkSession.sparkContext.getConf)
      .of(effective.select(dataset), request)
  }

  /** Refuses what can never run, before any job. */
  private def request(dataset: Dataset[_]): TrainRequest = {
    checkedSchema(dataset.schema)
    if ($(numWorkers) < 1) throw new UserError(s"numWorkers must be at least 1: ${$(numWorkers)}")
    val task = TaskJson.training(this)
    val description = Engine.describe(task)
    val checkpoints = CheckpointParams.request(this)
    val traces = TaskJson.column(this, traceDir)
    TrainJob.check(dataset.sparkSession, $(numWorkers), checkpoints, traces)
    WorkerMemory.check(
      dataset.sparkSession.sparkContext.getConf,
      description.memoryBytes,
      get(dataMemory),
      $(numWorkers))
    TrainRequest(
      task,
      description.rowBytes,
      $(numWorkers),
      $(forceRepartition),
      $(connectTimeout),
      $(slotTimeout),
      $(verbose),
      checkpoints,
      $(maxRestarts),
      uid,
      TaskJson.column(this, tensorboardDir),
      traces,
      callbacks,
      initialWeights(dataset.sparkSession))
  }

  /** Fits on all rows of a Parquet file or folder, of any file system that Spark knows. */
  def fitOnParquet(path: String): M = fit(SparkSession.active.read.parquet(path))

  override def transformSchema(schema: StructType): StructType =
    withSessionDefaults(SparkSession.active).checkedSchema(schema)

  override def copy(extra: ParamMap): NetworkEstimator[M] = {
    val copied = defaultCopy[NetworkEstimator[M]](extra)
    copied.callbacks = callbacks
    // One that is named later counts.
    copied.initial = initial.filterNot(_ => copied.isSet(copied.initialModel))
    copied
  }

  override def write: MLWriter = {
    if (initial.isDefined) {
      throw new UserError("An initialModel that is not saved cannot be kept: save it, and set initialModel to its path")
    }
    super.write
  }

  private[bloomery] def described: Description =
    Engine.describe(Json.obj("network" -> TaskJson.network(this)).toString)

  /** A copy in which params that are not set have what the session's settings give them. */
  private def withSessionDefaults(session: SparkSession): NetworkEstimator[M] =
    copy(SessionDefaults.of(this, session))

  /** With the columns that the model will add; a UserError when one that is read is not there or of a wrong type. */
  private[bloomery] def checkedSchema(schema: StructType): StructType = {
    columns(schema)
    predictions(described).appendTo(schema)
  }

  private def initialWeights(session: SparkSession): Array[Byte] =
    initial
      .map(_.weights)
      .orElse(TaskJson.column(this, initialModel).map(ModelFolder.weights(_, ModelMetadata.hadoopConf(session))))
      .getOrElse(Array.emptyByteArray)

  private def select(dataset: Dataset[_]): DataFrame =
    dataset.select(columns(dataset.schema): _*)

  /** Each column once, whatever it is used for. */
  private def columns(schema: StructType): Seq[Column] = {
    lazy val network = described
    val features = inputs(network).columns.map(column => column.name -> Columns.features(schema, column))
    val labels = targets(network).columns.map(label => label.name -> Columns.label(schema, label, takesValues))
    val weight =
      TaskJson.column(this, weightCol).map(name => name -> Columns.number(schema, "weightCol", name))
    val indicator = TaskJson
      .column(this, validationIndicatorCol)
      .map(name => name -> Columns.boolean(schema, "validationIndicatorCol", name))
    (features ++ labels ++ weight ++ indicator).distinctBy(_._1).map(_._2)
  }
}
