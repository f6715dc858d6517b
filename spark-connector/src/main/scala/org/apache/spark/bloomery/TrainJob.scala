package org.apache.spark.bloomery

import java.util.UUID

import scala.annotation.tailrec
import scala.concurrent.{Await, TimeoutException}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try, Using}

import org.apache.hadoop.conf.Configuration

import org.apache.spark.{FutureAction, SparkEnv, SparkException}
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.rpc.RpcEndpointRef
import org.apache.spark.sql.{classic, DataFrame, Row, SparkSession}
import org.apache.spark.sql.bloomery.SessionJars
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.Utils

import io.bloomery.{Cancelled, EpochCallback, EpochRecord, InternalError, PeerLost}
import io.bloomery.engine.Json

/**
 * What to train; `task` is the engine's JSON without rank and host, `rowBytes` a row's features, `uid` the estimator's,
 * `initialWeights` those that training begins with, as safetensors, or empty. `name` tells it from others of the same
 * fit, for messages; those of one `kindOfRows` may share them. `networkBytes` is what a worker takes without its rows.
 */
final case class TrainRequest(
    task: String,
    rowBytes: Long,
    numWorkers: Int,
    forceRepartition: Boolean,
    connectTimeout: Double,
    slotTimeout: Double,
    verbose: Int,
    checkpoints: Option[CheckpointRequest] = None,
    maxRestarts: Int = 0,
    uid: String = "",
    tensorboardDir: Option[String] = None,
    traceDir: Option[String] = None,
    callbacks: Seq[EpochCallback] = Seq.empty,
    initialWeights: Array[Byte] = Array.emptyByteArray,
    name: String = "",
    kindOfRows: String = "",
    weightBytes: Long = 0,
    networkBytes: Long = 0,
    dataMemory: Option[Long] = None,
    workerCpus: Option[Int] = None) {

  /** As the task has them; the engine trains one where none are given. */
  def epochs: Int = Json.parse(task, "task").path("training").path("epochs").asInt(1)

  /** Seconds after which a silent worker counts as lost, as the task has them. */
  def stepTimeout: Double =
    Json.parse(task, "task").path("worker").path("stepTimeout").asDouble(Double.PositiveInfinity)
}

/**
 * The weights as safetensors, the epochs of each worker as JSON, what its threads did, which way the rows came, what
 * happened, and when.
 */
final case class TrainOutcome(
    weights: Array[Byte],
    workerHistory: Seq[Seq[String]],
    timeline: Timeline,
    input: String = "",
    events: Seq[FitEvent] = Seq.empty,
    times: FitTimes = FitTimes(0, 0, 0))

/**
 * Runs a fit as one barrier stage of `numWorkers` tasks on the thread that called it. A shuffle to
 * one partition stands behind the stage, because Spark tries a failed barrier stage again only
 * when it is not the last one. Several trainings that read the same rows alike run in one stage, one after the other.
 */
object TrainJob extends Logging {

  /** How long tasks have to end by themselves after one of them failed. */
  private val EndGrace = 5.seconds
  private val PollInterval = 100.millis

  /** How long Spark's word of a lost executor may come behind the failure that it caused. */
  private val LossGrace = 2.seconds

  /** Refuses what can never run, before any job. */
  def check(
      session: SparkSession,
      numWorkers: Int,
      checkpoints: Option[CheckpointRequest],
      traceDir: Option[String] = None,
      workerCpus: Option[Int] = None): Unit = {
    SessionJars.check(session)
    Slots.check(session.sparkContext.conf, numWorkers, workerCpus)
    WorkerNetwork.encrypts(WorkerNetwork.conf(session))
    LocalFolders.checkDriver(SparkEnv.get)
    checkpoints.foreach(request =>
      CheckpointBoard.check(new CheckpointFolder(request.path, hadoopConf(session)), request))
    traceDir.foreach(path => new TraceFolder(path, hadoopConf(session)).checkWritable())
  }

  /** Trains on the columns of `data`, which are the task's columns. */
  def run(data: DataFrame, request: TrainRequest): TrainOutcome = run(data, Seq(request)).head

  /** The same for several trainings whose rows, workers and waiting are alike; outcomes come in their order. */
  def run(data: DataFrame, requests: Seq[TrainRequest]): Seq[TrainOutcome] =
    try runOn(data, requests)
    catch {
      // Of stages before ours, which Spark runs and tries again by itself.
      case error: SparkException => throw FileFailure.inWords(error).getOrElse(error)
    }

  private def runOn(data: DataFrame, requests: Seq[TrainRequest]): Seq[TrainOutcome] = {
    val started = ControlChannel.micros()
    val alike = requests.head
    val classicData = dealt(data, alike).asInstanceOf[classic.Dataset[Row]]
    val session = classicData.sparkSession
    val context = session.sparkContext
    val views = requests.map(request => new FitViews(viewsOf(session, request)))
    // An execution of its own hands the session's SQL settings to the tasks and shows in the UI.
    FitViews.during(views)(SQLExecution.withNewExecutionId(classicData.queryExecution, Some("bloomery fit")) {
      val input = Input.of(classicData, alike.numWorkers)
      logInfo(s"Rows come by way of ${input.text}")
      val profile = WorkerCpus.of(context.conf, alike.workerCpus).profile
      val network = WorkerNetwork.conf(session)
      val workers = workersOf(input, classicData, alike)
      profile.foreach(workers.withResources)
      Using.Manager { use =>
        val trainings = requests.zip(views).map { case (request, views) =>
          use(new DriverTraining(request, input, views, context, network, hadoopConf(session)))
        }
        trainings.foreach(_.checkpoints.prepare())
        use(new ExecutorWatch(context, (executor, reason) => trainings.foreach(_.lost(executor, reason))))
        val outcomes = jobs(0, trainings, alike.maxRestarts) { restart =>
          Slots.await(context, alike.numWorkers, alike.slotTimeout, text => views.foreach(_.say(text)), profile)
          Using.Manager { useNow =>
            val registered = trainings.map(training => useNow(new Registered(training.newChannel())))
            val specs = trainings.zip(registered).map { case (training, channel) =>
              training.spec(channel.name, restart)
            }
            trainings.foreach(_.clock.submit())
            trained(trainings.zip(registered.map(_.channel)), submit(workers, specs), started)
          }.get
        }
        trainings.zip(outcomes).map { case (training, outcome) =>
          whyEarly(outcome, training.callbacks).foreach(training.events.add)
          training.request.traceDir.foreach(leaveTrace(session, _, outcome.timeline, training.events))
          outcome.copy(input = input.text, events = training.events.all, times = training.clock.times)
        }
      }.get
    })
  }

  /** Who shows the fit: the driver's stderr, Spark's UI, files for TensorBoard. */
  private def viewsOf(session: SparkSession, request: TrainRequest): Seq[FitView] = {
    val context = session.sparkContext
    BloomeryTab.attachTo(context)
    Option.when(request.verbose > 0)(ProgressLine.onStderr(context)).toSeq ++
      request.tensorboardDir.map(new TensorBoardLog(_, hadoopConf(session))) :+
      LiveFits.start(context.applicationId, request.uid, request.task, request.numWorkers)
  }

  /** A model that is trained is worth more than its trace: what goes wrong here is only told. */
  private def leaveTrace(session: SparkSession, path: String, timeline: Timeline, events: FitEvents): Unit =
    Try(new TraceFolder(path, hadoopConf(session)).write(timeline)) match {
      case Success(file) => logInfo(s"Trace of the fit: $file")
      case Failure(error) => events.add(s"The trace could not be written to traceDir: $path, ${error.getMessage}")
    }

  /** What the user should know of a training that ended before its last epoch. */
  private def whyEarly(outcome: TrainOutcome, callbacks: EpochCallbacks): Option[String] =
    callbacks.stoppedAfter
      .map(epoch => s"Training stopped after epoch $epoch: a callback asked for it")
      .orElse(outcome.workerHistory.head.lastOption.map(EpochRecord.fromJson).flatMap { last =>
        last.stops.map(why => s"Training stopped after epoch ${last.epoch}: $why")
      })

  /** The rows as workers get them. */
  private[bloomery] def dealt(data: DataFrame, request: TrainRequest): DataFrame =
    if (request.forceRepartition) data.repartition(request.numWorkers) else data

  /** Beyond the attempts that Spark makes at a stage, jobs as often as the user allows. */
  @tailrec
  private def jobs(restart: Int, trainings: Seq[DriverTraining], maxRestarts: Int)(
      job: Int => Seq[TrainOutcome]): Seq[TrainOutcome] =
    Try(job(restart)) match {
      case Success(outcomes) => outcomes
      case Failure(_) if trainings.exists(_.callbacks.failure.isDefined) =>
        throw trainings.flatMap(_.callbacks.failure).head
      case Failure(lost @ (_: PeerLost | _: SparkException)) if restart < maxRestarts =>
        trainings.foreach { training =>
          val again = s"Training is submitted again, restart ${restart + 1} of $maxRestarts"
          val told = training.events.all.exists(_.text.contains(lost.getMessage))
          training.events.add(if (told) again else s"$again: ${lost.getMessage}")
          training.checkpoints.prepareAgain()
        }
        jobs(restart + 1, trainings, maxRestarts)(job)
      case Failure(lost: PeerLost) => throw trainings.head.advised(lost)
      case Failure(error) => throw error
    }

  /** One partition for each worker, which holds the worker's rows. */
  private def workersOf(input: Input, data: classic.Dataset[Row], request: TrainRequest): RDD[Feed] =
    input match {
      case Input.Files(plan) =>
        warnOfIdleWorkers(plan.workers.count(_.nonEmpty), request.numWorkers, "row groups")
        val spec = ParquetSpec(plan.fileColumns, plan.constantColumns, plan.configuration)
        new ParquetRDD(data.sparkSession.sparkContext, plan)
          .mapPartitions(parts => Iterator.single(new ParquetFeed(spec, parts): Feed))
      case batches: Input.Batches =>
        val rdd = batches.rdd
        warnOfIdleWorkers(rdd.getNumPartitions, request.numWorkers, "partitions")
        val spec = ColumnarSpec(
          data.schema,
          batches.scan.ordinals,
          ArrowExport.rowsPerBatch(request.rowBytes),
          batches.files)
        new WorkerRDD(rdd, request.numWorkers)
          .mapPartitions(partitions => Iterator.single(new ColumnarFeed(spec, partitions): Feed))
      case picked: Input.Picked =>
        val rdd = picked.rdd
        warnOfIdleWorkers(rdd.getNumPartitions, request.numWorkers, "partitions")
        val spec = PickedSpec(
          picked.scan.columns,
          StructType(picked.data.schema.dropRight(2)),
          ArrowExport.rowsPerBatch(request.rowBytes),
          picked.scan.files,
          isBare = picked.files.nonEmpty,
          picked.scan.configuration)
        new WorkerRDD(rdd, request.numWorkers)
          .mapPartitions(partitions => Iterator.single(new PickedFeed(spec, partitions): Feed))
      case rows: Input.Rows =>
        val rdd = rows.rdd
        warnOfIdleWorkers(rdd.getNumPartitions, request.numWorkers, "partitions")
        val spec = RowSpec(data.schema, ArrowExport.rowsPerBatch(request.rowBytes), rows.files)
        new WorkerRDD(rdd, request.numWorkers)
          .mapPartitions(partitions => Iterator.single(new RowFeed(spec, partitions): Feed))
    }

  /** Results travel as bytes, which no serializer has to be told of. */
  private def submit(workers: RDD[Feed], specs: Seq[TrainSpec]): FutureAction[Seq[Array[Byte]]] = {
    val task = new TrainTask(specs)
    workers
      .barrier()
      .mapPartitions(_.flatMap(rows => task.run(rows).map(Utils.serialize(_))))
      .repartition(1)
      .collectAsync()
  }

  private def trained(
      trainings: Seq[(DriverTraining, ControlChannel)],
      job: FutureAction[Seq[Array[Byte]]],
      startedMicros: Long): Seq[TrainOutcome] = {
    val results =
      try {
        await(trainings, job, failedAt = None, told = Seq.fill(trainings.length)(0))
          .map(Utils.deserialize[(Int, TaskResult)](_, getClass.getClassLoader))
          .groupMap(_._1)(_._2)
      } catch { case error: SparkException => throw firstCause(trainings, error) }
    trainings.indices.map { index =>
      outcome(results.getOrElse(index, Seq.empty), startedMicros).getOrElse {
        throw firstCause(trainings, new InternalError("Training ended without a result"))
      }
    }
  }

  /** Nothing when a worker did not come to the end. */
  private def outcome(results: Seq[TaskResult], startedMicros: Long): Option[TrainOutcome] = {
    val weights = results.collect { case piece: TaskResult.Weights => piece }.sortBy(_.index)
    val traces = results.collect { case TaskResult.Trained(rank, _, trace) => rank -> trace }
    val histories = results.collect { case TaskResult.Trained(rank, history, _) => rank -> history }.sortBy(_._1)
    Option.when(histories.headOption.exists(_._1 == 0) && !results.exists(_.endsTask)) {
      TrainOutcome(Array.concat(weights.map(_.bytes): _*), histories.map(_._2), new Timeline(startedMicros, traces))
    }
  }

  /** What happened first, rather than what the job ended with. */
  private def firstCause(trainings: Seq[(DriverTraining, ControlChannel)], ended: Throwable): Throwable = {
    val failed = trainings.flatMap { case (training, channel) => channel.firstFailure.map(training -> _) }.headOption
    val lost = trainings.flatMap { case (_, channel) => channel.firstLoss.map(_.message) }.lastOption
      .orElse(trainings.flatMap { case (training, _) => executorLoss(training.board, ended) }.headOption)
    (ended, failed, lost) match {
      case (_, Some((training, failed)), _) => training.named(failed.failure.toThrowable)
      case (error: SparkException, _, _) if isCancellation(error) =>
        new Cancelled(s"The fit was cancelled: ${error.getMessage}").initCause(error)
      case (_, _, Some(lost)) => new PeerLost(lost).initCause(ended)
      case (error: SparkException, _, _) => LocalFolders.inWords(error, SparkEnv.get).getOrElse(error)
      case _ => ended
    }
  }

  /** Ends the job itself when a worker failed and another is held up in the user's own code, or Spark tries again. */
  @tailrec
  private def await(
      trainings: Seq[(DriverTraining, ControlChannel)],
      job: FutureAction[Seq[Array[Byte]]],
      failedAt: Option[Deadline],
      told: Seq[Int]): Seq[Array[Byte]] = {
    val done =
      try {
        Await.ready(job, PollInterval)
        true
      } catch {
        case _: TimeoutException => false
        case interrupted: InterruptedException =>
          job.cancel()
          throw interrupted
      }
    if (done) Await.result(job, Duration.Zero)
    else {
      val inVain = trainings.exists { case (_, channel) => channel.isTriedInVain }
      if (inVain || failedAt.exists(_.isOverdue())) job.cancel()
      val known = trainings.zip(told).map { case ((training, channel), told) =>
        val losses = channel.losses
        losses.drop(told).foreach(lost => training.events.add(s"A worker was lost, Spark tries again: ${lost.message}"))
        losses.size
      }
      val failed = trainings.exists { case (_, channel) => channel.firstFailure.isDefined }
      await(trainings, job, failedAt.orElse(Option.when(failed)(EndGrace.fromNow)), known)
    }
  }

  /** Often Spark ends the others before they can tell that they lost a peer. */
  private def executorLoss(board: WorkerBoard, ended: Throwable): Option[String] =
    if (String.valueOf(ended.getMessage).contains("ExecutorLostFailure")) board.awaitExecutorLoss(LossGrace) else None

  private def hadoopConf(session: SparkSession): Configuration =
    session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf()

  private def isCancellation(error: SparkException): Boolean =
    Option(error.getCondition).contains("SPARK_JOB_CANCELLED")

  private def warnOfIdleWorkers(numPieces: Int, numWorkers: Int, pieces: String): Unit =
    if (numPieces < numWorkers) {
      logWarning(
        s"${numWorkers - numPieces} of $numWorkers workers get no rows, since the data has" +
          s" $numPieces $pieces; set forceRepartition, or repartition it")
    }

  /** The control channel while it is known to Spark's RpcEnv. */
  private final class Registered(val channel: ControlChannel) extends AutoCloseable {
    val name: String = s"bloomery-${UUID.randomUUID()}"
    private val reference: RpcEndpointRef = channel.rpcEnv.setupEndpoint(name, channel)

    override def close(): Unit = channel.rpcEnv.stop(reference)
  }
}
