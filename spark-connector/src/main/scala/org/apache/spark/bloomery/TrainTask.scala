package org.apache.spark.bloomery

import scala.concurrent.duration._
import scala.util.Using

import org.apache.spark.{BarrierTaskContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.Logging

import io.bloomery.{BloomeryException, PeerLost, ResourceError}
import io.bloomery.engine.{Json, NativeTrainer}

/** What every worker of a fit needs to know; `task` is the engine's JSON without rank and host. */
private[bloomery] final case class TrainSpec(
    task: String,
    numWorkers: Int,
    connectTimeout: Double,
    channel: String,
    checkpoints: Option[CheckpointTarget],
    traced: Boolean,
    asksAfterEpoch: Boolean,
    initialWeights: Option[Broadcast[Array[Byte]]])

/**
 * The life of one worker on its task thread: open, meet the others, feed rows, watch until the
 * end. Only what Spark has to handle leaves as an exception; everything else is a result.
 */
private[bloomery] final class TrainTask(spec: TrainSpec) extends Serializable with Logging {

  def run(rows: Feed): Iterator[TaskResult] = {
    val context = BarrierTaskContext.get()
    val rank = context.partitionId()
    val client = ControlClient.connect(spec.channel, context.stageAttemptNumber(), rank)
    val env = SparkEnv.get
    try {
      client.arrive(env.blockManager.blockManagerId.host, env.executorId)
      train(context, client, rows)
    } catch {
      case error: Throwable if context.isInterrupted() =>
        context.killTaskIfInterrupted()
        throw error
      case stopped: StoppedByPeer => Iterator(TaskResult.Stopped(rank, stopped.rank))
      case lost: PeerLost =>
        client.failedPeer() match {
          case Some(by) => Iterator(TaskResult.Stopped(rank, by))
          case None => throw client.lose(lost)
        }
      case error: ResourceError => broken(client, rank, LocalFolders.whyUnwritable(env, rank).getOrElse(error))
      case error: BloomeryException => broken(client, rank, error)
      case error: Throwable if Failure.belongsToSpark(error) => throw error
      case error: Throwable => broken(client, rank, error)
    }
  }

  private def broken(client: ControlClient, rank: Int, error: Throwable): Iterator[TaskResult] = {
    // Ours says all in its message, and the driver throws it: no stack needed here.
    error match {
      case ours: BloomeryException => logWarning(s"Worker $rank stops: ${ours.getMessage}")
      case other => logError(s"Worker $rank stops", other)
    }
    val failure = Failure(error)
    client.fail(failure)
    Iterator(TaskResult.Broken(rank, failure))
  }

  private def train(
      context: BarrierTaskContext,
      client: ControlClient,
      rows: Feed): Iterator[TaskResult] = {
    val rank = context.partitionId()
    LocalFolders.checkWorker(SparkEnv.get, rank)
    Using.resource(NativeTrainer.open(workerTask(context), spec.initialWeights.fold(Array.emptyByteArray)(_.value))) {
      trainer =>
        Using.resource(new KillWatch(context, () => trainer.cancel())) { _ =>
          Using.resource(checkpoints(context, trainer)) { checkpoints =>
            checkpoints.restore()
            val meeting = client.meet(
              trainer.address(),
              spec.connectTimeout.seconds,
              () => context.killTaskIfInterrupted())
            // Who was refused, whether or not all others came.
            try trainer.connect(meeting.addresses, meeting.credentials)
            finally trainer.takeLog().foreach(line => logWarning(line))
            val reporter = new Reporter(trainer, client, WorkerNetwork.host(SparkEnv.get), spec.traced)
            rows.into(trainer, context, reporter)
            trainer.finishIngest()
            while (!reporter.poll(TrainTask.PollMillis)) context.killTaskIfInterrupted()
            while (!checkpoints.isDone) {
              context.killTaskIfInterrupted()
              reporter.pollIfDue()
              Thread.sleep(TrainTask.WriteMillis)
            }
            LocalFolders.checkWorker(SparkEnv.get, rank)
            val weights = if (rank == 0) TaskResult.pieces(trainer.weights()) else Iterator.empty
            Iterator(TaskResult.Trained(rank, reporter.history, reporter.trace())) ++ weights
          }
        }
    }
  }

  private def checkpoints(context: BarrierTaskContext, trainer: NativeTrainer): WorkerCheckpoints =
    spec.checkpoints match {
      case Some(target) =>
        CheckpointWriter.open(
          target,
          spec.channel,
          trainer,
          context.stageAttemptNumber(),
          context.partitionId(),
          spec.numWorkers,
          spec.connectTimeout.seconds)
      case None => NoCheckpoints
    }

  private def workerTask(context: BarrierTaskContext): String = {
    val task = Json.parse(spec.task, "task")
    task
      .withObject("/worker")
      .put("rank", context.partitionId())
      .put("threads", context.cpus())
      .put("host", WorkerNetwork.host(SparkEnv.get))
      .put("asksAfterEpoch", spec.asksAfterEpoch)
    val env = SparkEnv.get
    RowSpace.complete(task.withObject("/data"), env, RowSpace.workersPerExecutor(env.conf, spec.numWorkers))
    task.toString
  }
}

private[bloomery] object TrainTask {
  val PollMillis = 500L

  /** Between two looks whether the last checkpoint is written. */
  private val WriteMillis = 20L
}
