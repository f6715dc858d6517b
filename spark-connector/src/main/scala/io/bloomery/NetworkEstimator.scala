package io.bloomery

import io.bloomery.engine.{Description, Engine, Json}
import io.bloomery.network.Network
import org.apache.spark.bloomery.{FitTimes, TrainJob, TrainOutcome, TrainRequest, WorkerMemory}
import org.apache.spark.ml.bloomery.{ModelMetadata, ServedEstimator}
import org.apache.spark.ml.param.ParamMap
import org.apache.spark.ml.util.{MLWritable, MLWriter}
import org.apache.spark.sql.{Column, DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.types.StructType
import scala.jdk.CollectionConverters._

/**
 * What all estimators share: one way from a DataFrame to trained weights. Each adds the params of its columns and says
 * which model it makes.
 */
abstract class NetworkEstimator[M <: NetworkModel[M]]
    extends ServedEstimator[M]
    with TrainingParams
    with MLWritable {
  import NetworkEstimator.MaxShown

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

  /** Begins anew again, whichever way a model was given. */
  def withoutInitialModel(): this.type = {
    initial = None
    clear(initialModel)
  }

  override def fit(dataset: Dataset[_]): M = fitAll(dataset, Seq(this)).head

  /**
   * A model for each param map, in their order. Rows are read once for all that want the same of them, and trained on
   * one param map after the other, in one stage.
   */
  override def fit(dataset: Dataset[_], paramMaps: Seq[ParamMap]): Seq[M] = fitAll(dataset, paramMaps.map(copy))

  /** For Python, whose param maps are in copies of this. */
  private[bloomery] def fitEach(dataset: Dataset[_], copies: java.util.List[NetworkEstimator[M]]): java.util.List[M] =
    fitAll(dataset, copies.asScala.toSeq).asJava

  private def fitAll(dataset: Dataset[_], copies: Seq[NetworkEstimator[M]]): Seq[M] = {
    val began = FitTimes.now()
    // What is wrong with any of them shows before the first job.
    val fits = copies.zipWithIndex.map { case (copied, index) =>
      val name = if (copies.length == 1) "" else s"param map ${index + 1} of ${copies.length}${differences(copied)}"
      val effective = copied.withSessionDefaults(dataset.sparkSession)
      try Fit(index, copied, effective, effective.request(dataset).copy(name = name))
      catch { case error: BloomeryException if name.nonEmpty => throw error.of(name) }
    }
    val stages = fits.groupBy(_.sharing).values.flatMap(NetworkEstimator.inStages(_)(_.request.weightBytes))
    val models = stages.toSeq.sortBy(_.head.index).flatMap { alike =>
      TrainJob.run(alike.head.effective.select(dataset), alike.map(_.request)).zip(alike).map { case (outcome, fit) =>
        fit.index -> fit.effective.model(outcome, began, dataset.schema).setParent(fit.asked)
      }
    }
    models.sortBy(_._1).map(_._2)
  }

  /** One of several fits; `effective` has the session's defaults, too. */
  private case class Fit(
      index: Int,
      asked: NetworkEstimator[M],
      effective: NetworkEstimator[M],
      request: TrainRequest) {

    /** Fits for which it is equal may share a stage; each that keeps files of its own has one of its own. */
    def sharing: Any = {
      val keepsFiles = request.checkpoints.isDefined || request.tensorboardDir.isDefined
      (
        request.kindOfRows,
        request.numWorkers,
        request.workerCpus,
        request.forceRepartition,
        request.slotTimeout,
        request.maxRestarts,
        request.dataMemory,
        Option.when(keepsFiles)(index))
    }
  }

  /** The params in which a copy is another, for messages. */
  private def differences(copied: NetworkEstimator[M]): String = {
    def shown(from: NetworkEstimator[M], param: String): String = {
      val known = from.getParam(param)
      from.get(known).fold("not set")(value => known.jsonEncode(value).take(MaxShown))
    }
    val different = params.toSeq.map(_.name).filter(param => shown(copied, param) != shown(this, param))
    if (different.isEmpty) "" else different.map(param => s"$param: ${shown(copied, param)}").mkString(" (", ", ", ")")
  }

  private def model(outcome: TrainOutcome, began: Long, schema: StructType): M = {
    val summary = TrainingSummary(outcome, $(numWorkers), began, FitTimes.now())
    copyValues(newModel(TrainedNetwork(Network.fromJson($(network)), outcome.weights, summary), schema))
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
    if (dataset.isStreaming) {
      throw new UserError(
        "A stream has no last row to train up to; write it to files and fit those, or fit each of its batches in" +
          " foreachBatch with initialModel")
    }
    if ($(numWorkers) < 1) throw new UserError(s"numWorkers must be at least 1: ${$(numWorkers)}")
    if (!($(slotTimeout) >= 0)) throw new UserError(s"Negative: slotTimeout ${$(slotTimeout)}, give seconds from 0")
    checkOneOfEach()
    // An option that nothing has would else be told as a column of a wrong type.
    val task = TaskJson.training(this)
    val description = Engine.describe(task)
    checkedSchema(dataset.schema)
    val checkpoints = CheckpointParams.request(this)
    val traces = TaskJson.column(this, traceDir)
    get(workerCpus).filter(_ < 1).foreach(cpus => throw new UserError(s"workerCpus must be at least 1: $cpus"))
    TrainJob.check(dataset.sparkSession, $(numWorkers), checkpoints, traces, get(workerCpus))
    WorkerMemory.check(
      dataset.sparkSession.sparkContext.getConf,
      description.memoryBytes,
      get(dataMemory),
      $(numWorkers),
      get(workerCpus))
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
      initialWeights(dataset.sparkSession),
      kindOfRows = description.kindOfRows,
      weightBytes = description.parameters * java.lang.Float.BYTES,
      networkBytes = description.memoryBytes,
      dataMemory = get(dataMemory),
      workerCpus = get(workerCpus))
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
    new EstimatorWriter(this)
  }

  private[bloomery] def described: Description =
    Engine.describe(Json.obj("network" -> TaskJson.network(this)).toString)

  protected override def expectedBytes(dataset: Dataset[_]): Long =
    withSessionDefaults(dataset.sparkSession).described.parameters * java.lang.Float.BYTES

  /** A copy in which params that are not set have what the session's settings give them. */
  private def withSessionDefaults(session: SparkSession): NetworkEstimator[M] =
    copy(SessionDefaults.of(this, session))

  /** With the columns that the model will add; a UserError when one that is read is not there or of a wrong type. */
  private[bloomery] def checkedSchema(schema: StructType): StructType = {
    checkOneOfEach()
    columns(schema)
    predictions(described).appendTo(schema)
  }

  /** Columns of a classifier and of a regressor have no names of inputs and outputs. */
  private def checkOneOfEach(): Unit = this match {
    case _: OneOutputParams =>
      val network = described
      Seq("input" -> network.inputs.map(_.name), "output" -> network.outputs.map(_.name)).foreach {
        case (what, names) if names.length > 1 =>
          throw new UserError(
            s"Network has ${names.length} ${what}s, and ${getClass.getSimpleName} takes one: use NeuralNetEstimator," +
              s" whose columns go by their names: ${names.mkString(", ")}")
        case _ => ()
      }
    case _ => ()
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

private[bloomery] object NetworkEstimator {

  /** Of a value in a message. */
  private val MaxShown = 60

  /** Models of a stage wait on one executor for the last of them, and travel to the driver together. */
  private val MaxWeightBytes = 256L << 20

  /** Fits that may share a stage, in as many stages as their weights need. */
  def inStages[T](alike: Seq[T])(weightBytes: T => Long): Seq[Seq[T]] =
    alike.foldLeft(Vector.empty[Vector[T]]) { (stages, fit) =>
      stages.lastOption match {
        case Some(last) if (last :+ fit).map(weightBytes).sum <= MaxWeightBytes => stages.init :+ (last :+ fit)
        case _ => stages :+ Vector(fit)
      }
    }
}
