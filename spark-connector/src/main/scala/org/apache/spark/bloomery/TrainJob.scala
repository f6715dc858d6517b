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
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.util.Utils

import io.bloomery.{Cancelled, EpochCallback, EpochRecord, InternalError, PeerLost}
import io.bloomery.engine.{Engine, Json}

/**
 * What to train; `task` is the engine's JSON without rank and host, `rowBytes` a row's features, `uid` the estimator's,
 * `initialWeights` those that training begins with, as safetensors, or empty.
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
    initialWeights: Array[Byte] = Array.emptyByteArray)

/** The weights as safetensors, the epochs of each worker as JSON, what its threads did, and which way the rows came. */
final case class TrainOutcome(
    weights: Array[Byte],
    workerHistory: Seq[Seq[String]],
    timeline: Timeline,
    input: String = "",
    events: Seq[FitEvent] = Seq.empty)

/**
 * Runs a fit as one barrier stage of `numWorkers` tasks on the thread that called it. A shuffle to
 * one partition stands behind the stage, because Spark tries a failed barrier stage again only
 * when it is not the last one.
 */
object TrainJob extends Logging {

  /** How long tasks have to end by themselves after one of them failed. */
  private val EndGrace = 5.seconds
  private val PollInterval = 100.millis

  /** Refuses what can never run, before any job. */
  def check(
      session: SparkSession,
      numWorkers: Int,
      checkpoints: Option[CheckpointRequest],
      traceDir: Option[String] = None): Unit = {
    Slots.check(session.sparkContext.conf, numWorkers)
    WorkerNetwork.encrypts(session.sparkContext.conf)
    LocalFolders.checkDriver(SparkEnv.get)
    checkpoints.foreach(request => new CheckpointFolder(request.path, hadoopConf(session)).checkWritable())
    traceDir.foreach(path => new TraceFolder(path, hadoopConf(session)).checkWritable())
  }

  /** Trains on the columns of `data`, which are the task's columns. */
  def run(data: DataFrame, request: TrainRequest): TrainOutcome = {
    val started = ControlChannel.micros()
    val classicData = dealt(data, request).asInstanceOf[classic.Dataset[Row]]
    val context = classicData.sparkSession.sparkContext
    val views = new FitViews(viewsOf(classicData.sparkSession, request))
    val events = new FitEvents(views.say)
    val encrypt = WorkerNetwork.encrypts(context.conf)
    // An execution of its own hands the session's SQL settings to the tasks and shows in the UI.
    views.during(SQLExecution.withNewExecutionId(classicData.queryExecution, Some("bloomery fit")) {
      if (request.numWorkers > 1) WorkerNetwork.warnings(context.conf).foreach(events.add)
      val input = Input.of(classicData, request.numWorkers)
      logInfo(s"Rows come by way of ${input.text}")
      val workers = workersOf(input, classicData, request)
      val initialWeights = Option.when(request.initialWeights.nonEmpty)(context.broadcast(request.initialWeights))
      Using.resource(new EpochCallbacks(request.callbacks)) { callbacks =>
        Using.resource(new FitCheckpoints(request, input, hadoopConf(classicData.sparkSession), events)) {
          checkpoints =>
            checkpoints.prepare()
            val board =
              new WorkerBoard(request.numWorkers, input.share(_, request.numWorkers), events.add, stepTimeout(request))
            def tellLoss(executor: String, reason: String): Unit = events.add(board.lostExecutor(executor, reason))
            val trained = Using.resource(new ExecutorWatch(context, tellLoss)) { _ =>
              jobs(0, checkpoints, callbacks, request, events) { restart =>
                Slots.await(context, request.numWorkers, request.slotTimeout, views.say)
                val channel = new ControlChannel(
                  SparkEnv.get.rpcEnv,
                  request.numWorkers,
                  attempt => Engine.issueCredentials(request.numWorkers, attempt, encrypt),
                  views.report,
                  checkpoints.board,
                  board,
                  Some(callbacks))
                Using.resource(new Registered(channel)) { registered =>
                  val spec = TrainSpec(
                    request.task,
                    request.numWorkers,
                    request.connectTimeout,
                    registered.name,
                    checkpoints.target(restart),
                    request.traceDir.isDefined,
                    !callbacks.isEmpty,
                    initialWeights)
                  outcome(channel, board, submit(workers, spec), events, started)
                }
              }
            }
            whyEarly(trained, callbacks).foreach(events.add)
            request.traceDir.foreach(leaveTrace(classicData.sparkSession, _, trained.timeline, events))
            trained.copy(input = input.text, events = events.all)
        }
      }
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
  private def jobs(
      restart: Int,
      checkpoints: FitCheckpoints,
      callbacks: EpochCallbacks,
      request: TrainRequest,
      events: FitEvents)(job: Int => TrainOutcome): TrainOutcome =
    Try(job(restart)) match {
      case Success(outcome) => outcome
      case Failure(_) if callbacks.failure.isDefined => throw callbacks.failure.get
      case Failure(lost @ (_: PeerLost | _: SparkException)) if restart < request.maxRestarts =>
        events.add(s"Training is submitted again, restart ${restart + 1} of ${request.maxRestarts}: ${lost.getMessage}")
        checkpoints.prepareAgain()
        jobs(restart + 1, checkpoints, callbacks, request, events)(job)
      case Failure(error) => throw error
    }

  /** One partition for each worker, which holds the worker's rows. */
  private def workersOf(input: Input, data: classic.Dataset[Row], request: TrainRequest): RDD[Feed] =
    input match {
      case Input.Files(plan) =>
        warnOfIdleWorkers(plan.workers.count(_.nonEmpty), request.numWorkers, "row groups")
        val spec = ParquetSpec(
          plan.fileColumns,
          plan.namesInFiles,
          plan.encodedTexts,
          plan.constantColumns,
          plan.configuration)
        new ParquetRDD(data.sparkSession.sparkContext, plan)
          .mapPartitions(parts => Iterator.single(new ParquetFeed(spec, parts): Feed))
      case batches: Input.Batches =>
        val rdd = batches.scan.rdd
        warnOfIdleWorkers(rdd.getNumPartitions, request.numWorkers, "partitions")
        val spec = ColumnarSpec(
          data.schema,
          batches.scan.ordinals,
          ArrowExport.rowsPerBatch(request.rowBytes),
          batches.files)
        new WorkerRDD(rdd, request.numWorkers)
          .mapPartitions(partitions => Iterator.single(new ColumnarFeed(spec, partitions): Feed))
      case rows: Input.Rows =>
        val rdd = rows.rdd
        warnOfIdleWorkers(rdd.getNumPartitions, request.numWorkers, "partitions")
        val spec = RowSpec(data.schema, ArrowExport.rowsPerBatch(request.rowBytes), rows.files)
        new WorkerRDD(rdd, request.numWorkers)
          .mapPartitions(partitions => Iterator.single(new RowFeed(spec, partitions): Feed))
    }

  /** Results travel as bytes, which no serializer has to be told of. */
  private def submit(workers: RDD[Feed], spec: TrainSpec): FutureAction[Seq[Array[Byte]]] = {
    val task = new TrainTask(spec)
    workers
      .barrier()
      .mapPartitions(_.flatMap(rows => task.run(rows).map(Utils.serialize(_))))
      .repartition(1)
      .collectAsync()
  }

  private def outcome(
      channel: ControlChannel,
      board: WorkerBoard,
      job: FutureAction[Seq[Array[Byte]]],
      events: FitEvents,
      startedMicros: Long): TrainOutcome = {
    val results =
      try {
        await(channel, job, events, failedAt = None, told = 0)
          .map(Utils.deserialize[TaskResult](_, getClass.getClassLoader))
      } catch { case error: SparkException => throw firstCause(channel, board, error) }
    val weights = results.collect { case piece: TaskResult.Weights => piece }.sortBy(_.index)
    val traces = results.collect { case TaskResult.Trained(rank, _, trace) => rank -> trace }
    val histories = results.collect { case TaskResult.Trained(rank, history, _) => rank -> history }.sortBy(_._1)
    histories.headOption match {
      case Some((0, _)) if !results.exists(_.isInstanceOf[TaskResult.Broken]) =>
        TrainOutcome(Array.concat(weights.map(_.bytes): _*), histories.map(_._2), new Timeline(startedMicros, traces))
      case _ => throw firstCause(channel, board, new InternalError("Training ended without a result"))
    }
  }

  /** What happened first, rather than what the job ended with. */
  private def firstCause(channel: ControlChannel, board: WorkerBoard, ended: Throwable): Throwable =
    (ended, channel.firstFailure, channel.firstLoss.map(_.message).orElse(executorLoss(board, ended))) match {
      case (_, Some(failed), _) => failed.failure.toThrowable
      case (error: SparkException, _, _) if isCancellation(error) =>
        new Cancelled(s"The fit was cancelled: ${error.getMessage}").initCause(error)
      case (_, _, Some(lost)) => new PeerLost(lost).initCause(ended)
      case (error: SparkException, _, _) => LocalFolders.inWords(error, SparkEnv.get).getOrElse(error)
      case _ => ended
    }

  /** Ends the job itself when a worker failed and another is held up in the user's own code, or Spark tries again. */
  @tailrec
  private def await(
      channel: ControlChannel,
      job: FutureAction[Seq[Array[Byte]]],
      events: FitEvents,
      failedAt: Option[Deadline],
      told: Int): Seq[Array[Byte]] = {
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
      if (channel.isTriedInVain || failedAt.exists(_.isOverdue())) job.cancel()
      val losses = channel.losses
      losses.drop(told).foreach(lost => events.add(s"A worker was lost, Spark tries again: ${lost.message}"))
      await(channel, job, events, failedAt.orElse(channel.firstFailure.map(_ => EndGrace.fromNow)), losses.size)
    }
  }

  /** Often Spark ends the others before they can tell that they lost a peer. */
  private def executorLoss(board: WorkerBoard, ended: Throwable): Option[String] =
    board.lastExecutorLoss.filter(_ => String.valueOf(ended.getMessage).contains("ExecutorLostFailure"))

  private def stepTimeout(request: TrainRequest): Double =
    Json.parse(request.task, "task").path("worker").path("stepTimeout").asDouble(Double.PositiveInfinity)

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
  private final class Registered(channel: ControlChannel) extends AutoCloseable {
    val name: String = s"bloomery-${UUID.randomUUID()}"
    private val reference: RpcEndpointRef = channel.rpcEnv.setupEndpoint(name, channel)

    override def close(): Unit = channel.rpcEnv.stop(reference)
  }
}
