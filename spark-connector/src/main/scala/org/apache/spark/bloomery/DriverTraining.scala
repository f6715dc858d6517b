package org.apache.spark.bloomery

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration

import org.apache.spark.{SparkConf, SparkContext, SparkEnv}

import io.bloomery.{BloomeryException, PeerLost}
import io.bloomery.engine.{Engine, Progress}

/**
 * One training of a job as the driver has it, over all jobs that it takes: what it tells the user, who is asked after
 * its epochs, and what is saved of it.
 */
private[bloomery] final class DriverTraining(
    val request: TrainRequest,
    input: Input,
    views: FitViews,
    context: SparkContext,
    network: SparkConf,
    configuration: Configuration)
    extends AutoCloseable {
  val events = new FitEvents(views.say)
  val clock = new FitClock
  val callbacks = new EpochCallbacks(request.callbacks)
  val checkpoints = new FitCheckpoints(request, input, configuration, events)
  val board =
    new WorkerBoard(request.numWorkers, input.share(_, request.numWorkers), events.add, request.stepTimeout)

  /** Lines of the workers' engines: what several of them find is told once. */
  private val told = mutable.Set.empty[String]
  private val encrypt = WorkerNetwork.encrypts(network)
  private val task = KnownRows.addTo(request.task, input)
  private lazy val initialWeights =
    Option.when(request.initialWeights.nonEmpty)(context.broadcast(request.initialWeights))

  if (request.numWorkers > 1) WorkerNetwork.warnings(network).foreach(events.add)

  /** Where the workers of one job meet and report. */
  def newChannel(): ControlChannel =
    new ControlChannel(
      SparkEnv.get.rpcEnv,
      request.numWorkers,
      attempt => Engine.issueCredentials(request.numWorkers, attempt, encrypt),
      reported,
      checkpoints.board,
      board,
      Some(callbacks),
      met)

  private def met(attempt: Int): Unit = {
    clock.meet()
    if (attempt > 0) checkpoints.triedAgain(s"Attempt ${attempt + 1}")
  }

  private def reported(rank: Int, progress: String): Unit = {
    val news = Progress(progress)
    if (rank == 0 && news.isFinished) clock.finish()
    news.log.filter(told.add).foreach(events.add)
    views.report(rank, progress)
  }

  def spec(channel: String, restart: Int): TrainSpec =
    TrainSpec(
      task,
      request.numWorkers,
      request.connectTimeout,
      channel,
      checkpoints.target(restart),
      request.traceDir.isDefined,
      !callbacks.isEmpty,
      initialWeights,
      request.networkBytes,
      request.dataMemory,
      WorkerCpus.of(context.conf, request.workerCpus),
      WorkerNetwork.interface(network))

  /** Spark gave up an executor. */
  def lost(executor: String, reason: String): Unit = events.add(board.lostExecutor(executor, reason))

  /** A failure with the training that it is of, where there are several; what is not ours stays as it is. */
  def named(failure: Throwable): Throwable = failure match {
    case ours: BloomeryException if request.name.nonEmpty => ours.of(request.name)
    case other => other
  }

  /** A loss that no further attempt mends, with what the user can do. */
  def advised(lost: PeerLost): PeerLost = {
    val advised = new PeerLost(s"${lost.getMessage}. ${checkpoints.advice}")
    advised.initCause(lost.getCause)
    advised
  }

  override def close(): Unit = {
    checkpoints.close()
    callbacks.close()
  }
}
