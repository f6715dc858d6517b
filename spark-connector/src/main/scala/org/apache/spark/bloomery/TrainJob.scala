package org.apache.spark.bloomery

import java.util.UUID

import scala.annotation.tailrec
import scala.concurrent.{Await, TimeoutException}
import scala.concurrent.duration._
import scala.util.Using

import org.apache.spark.{FutureAction, SparkContext, SparkEnv, SparkException}
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.rpc.RpcEndpointRef
import org.apache.spark.sql.{classic, DataFrame, Row}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.util.Utils

import io.bloomery.{Cancelled, InternalError, PeerLost}

/** What to train; `task` is the engine's JSON without rank and host, `rowBytes` a row's features. */
final case class TrainRequest(
    task: String,
    rowBytes: Long,
    numWorkers: Int,
    forceRepartition: Boolean,
    connectTimeout: Double,
    slotTimeout: Double,
    verbose: Int)

/**
 * The weights as safetensors, the epochs of each worker as JSON, each worker's last spans as JSON, and which way
 * the rows came.
 */
final case class TrainOutcome(
    weights: Array[Byte],
    workerHistory: Seq[Seq[String]],
    trace: Map[Int, Seq[String]],
    input: String = "")

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
  def check(context: SparkContext, numWorkers: Int): Unit = Slots.check(context.conf, numWorkers)

  /** Trains on the columns of `data`, which are the task's columns. */
  def run(data: DataFrame, request: TrainRequest): TrainOutcome = {
    val dealt = if (request.forceRepartition) data.repartition(request.numWorkers) else data
    val classicData = dealt.asInstanceOf[classic.Dataset[Row]]
    val context = classicData.sparkSession.sparkContext
    val line = Option.when(request.verbose > 0)(ProgressLine.onStderr(context))
    val channel =
      new ControlChannel(SparkEnv.get.rpcEnv, request.numWorkers, json => line.foreach(_.show(json)))
    // An execution of its own hands the session's SQL settings to the tasks and shows in the UI.
    SQLExecution.withNewExecutionId(classicData.queryExecution, Some("bloomery fit")) {
      val input = Input.of(classicData, request.numWorkers)
      logInfo(s"Rows come by way of ${input.text}")
      val workers = workersOf(input, classicData, request)
      Slots.await(context, request.numWorkers, request.slotTimeout, text => line.foreach(_.say(text)))
      Using.resource(new Registered(channel)) { registered =>
        val spec = TrainSpec(
          request.task,
          request.numWorkers,
          request.connectTimeout,
          registered.name)
        outcome(channel, submit(workers, spec)).copy(input = input.text)
      }
    }
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

  private def outcome(channel: ControlChannel, job: FutureAction[Seq[Array[Byte]]]): TrainOutcome = {
    val results =
      try await(channel, job, failedAt = None).map(Utils.deserialize[TaskResult](_, getClass.getClassLoader))
      catch { case error: SparkException => throw firstCause(channel, error) }
    val weights = results.collect { case piece: TaskResult.Weights => piece }.sortBy(_.index)
    val trace = results.collect { case TaskResult.Trained(rank, _, spans) => rank -> spans }.toMap
    val histories = results.collect { case TaskResult.Trained(rank, history, _) => rank -> history }.sortBy(_._1)
    histories.headOption match {
      case Some((0, _)) if !results.exists(_.isInstanceOf[TaskResult.Broken]) =>
        TrainOutcome(Array.concat(weights.map(_.bytes): _*), histories.map(_._2), trace)
      case _ => throw firstCause(channel, new InternalError("Training ended without a result"))
    }
  }

  /** What happened first, rather than what the job ended with. */
  private def firstCause(channel: ControlChannel, ended: Throwable): Throwable =
    (ended, channel.firstFailure, channel.firstLoss) match {
      case (_, Some(failed), _) => failed.failure.toThrowable
      case (error: SparkException, _, _) if isCancellation(error) =>
        new Cancelled(s"The fit was cancelled: ${error.getMessage}").initCause(error)
      case (_, _, Some(lost)) => new PeerLost(lost.message).initCause(ended)
      case _ => ended
    }

  /** Ends the job itself when a worker failed and another is held up in the user's own code. */
  @tailrec
  private def await(
      channel: ControlChannel,
      job: FutureAction[Seq[Array[Byte]]],
      failedAt: Option[Deadline]): Seq[Array[Byte]] = {
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
      if (failedAt.exists(_.isOverdue())) job.cancel()
      await(channel, job, failedAt.orElse(channel.firstFailure.map(_ => EndGrace.fromNow)))
    }
  }

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
