package org.apache.spark.bloomery

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.Using

import org.apache.spark.{BarrierTaskContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.Logging

import io.bloomery.{BloomeryException, PeerLost, ResourceError}
import io.bloomery.engine.{Json, NativeTrainer}

/** What every worker needs to know of a training; `task` is the engine's JSON without rank and host. */
private[bloomery] final case class TrainSpec(
    task: String,
    numWorkers: Int,
    connectTimeout: Double,
    channel: String,
    checkpoints: Option[CheckpointTarget],
    traced: Boolean,
    asksAfterEpoch: Boolean,
    initialWeights: Option[Broadcast[Array[Byte]]],
    networkBytes: Long,
    dataMemory: Option[Long],
    workerCpus: WorkerCpus,
    interface: Option[String])

/**
 * The life of one worker on its task thread, over all trainings of a job: rows are fed to the first, and those behind
 * it take them over. Ends with the first training that fails.
 */
private[bloomery] final class TrainTask(trainings: Seq[TrainSpec]) extends Serializable {

  /** Each result with the number of its training. */
  def run(rows: Feed): Iterator[(Int, TaskResult)] =
    Using.resource(new LastTrainer) { last =>
      @tailrec
      def from(index: Int, results: Vector[(Int, TaskResult)]): Vector[(Int, TaskResult)] =
        if (index == trainings.length || results.lastOption.exists(_._2.endsTask)) results
        else from(index + 1, results ++ new WorkerTraining(trainings(index)).run(rows, last).map(index -> _))
      from(0, Vector.empty).iterator
    }
}

/** The trainer that was opened last, with the rows that were fed to the first one. */
private[bloomery] final class LastTrainer extends AutoCloseable {
  private var trainer = Option.empty[NativeTrainer]

  def isEmpty: Boolean = trainer.isEmpty

  /** The next one, and whether rows are to be fed to it. */
  def next(task: String, weights: Array[Byte]): (NativeTrainer, Boolean) = {
    val before = trainer
    val opened = before.fold(NativeTrainer.open(task, weights))(_.another(task, weights))
    trainer = Some(opened)
    before.foreach(_.close())
    (opened, before.isEmpty)
  }

  override def close(): Unit = trainer.foreach(_.close())
}

/**
 * One training of a worker: open, meet the others, feed rows, watch until the end. Only what Spark has to handle leaves
 * as an exception; everything else is a result.
 */
private[bloomery] final class WorkerTraining(spec: TrainSpec) extends Logging {

  def run(rows: Feed, last: LastTrainer): Seq[TaskResult] = {
    val context = BarrierTaskContext.get()
    val rank = context.partitionId()
    val client = ControlClient.connect(spec.channel, context.stageAttemptNumber(), rank)
    val env = SparkEnv.get
    try {
      client.arrive(env.blockManager.blockManagerId.host, env.executorId)
      // Peers of a trainer that failed see it go.
      try train(context, client, rows, last)
      catch {
        case error: Throwable =>
          last.close()
          throw error
      }
    } catch {
      case error: Throwable if context.isInterrupted() =>
        context.killTaskIfInterrupted()
        throw error
      case stopped: StoppedByPeer => Seq(TaskResult.Stopped(rank, stopped.rank))
      case lost: PeerLost =>
        client.failedPeer() match {
          case Some(by) => Seq(TaskResult.Stopped(rank, by))
          case None => throw client.lose(lost)
        }
      case error: ResourceError => broken(client, rank, LocalFolders.whyUnwritable(env, rank).getOrElse(error))
      case error: BloomeryException => broken(client, rank, error)
      case error: Throwable if Failure.belongsToSpark(error) => throw error
      case error: Throwable => broken(client, rank, FileFailure.inWords(error).getOrElse(error))
    }
  }

  private def broken(client: ControlClient, rank: Int, error: Throwable): Seq[TaskResult] = {
    // Ours says all in its message, and the driver throws it: no stack needed here.
    error match {
      case ours: BloomeryException => logWarning(s"Worker $rank stops: ${ours.getMessage}")
      case other => logError(s"Worker $rank stops", other)
    }
    val failure = Failure(error)
    client.fail(failure)
    Seq(TaskResult.Broken(rank, failure))
  }

  private def train(
      context: BarrierTaskContext,
      client: ControlClient,
      rows: Feed,
      last: LastTrainer): Seq[TaskResult] = {
    // Rows that are there already are part of what is taken.
    val rowBytes = if (last.isEmpty) spec.dataMemory.getOrElse(0L) else 0L
    Using.resource(WorkerMemory.reserve(SparkEnv.get.conf, spec.networkBytes, rowBytes)) { _ =>
      trainIn(context, client, rows, last)
    }
  }

  private def trainIn(
      context: BarrierTaskContext,
      client: ControlClient,
      rows: Feed,
      last: LastTrainer): Seq[TaskResult] = {
    val rank = context.partitionId()
    LocalFolders.checkWorker(SparkEnv.get, rank)
    val (trainer, feeds) = last.next(workerTask(context), spec.initialWeights.fold(Array.emptyByteArray)(_.value))
    Using.resource(new KillWatch(context, () => trainer.cancel())) { _ =>
      Using.resource(checkpoints(context, trainer)) { checkpoints =>
        checkpoints.restore()
        val meeting = client.meet(
          trainer.address(),
          spec.connectTimeout.seconds,
          () => context.killTaskIfInterrupted())
        connect(trainer, meeting)
        val reporter = new Reporter(trainer, client, host, spec.traced)
        if (feeds) {
          rows.into(trainer, context, reporter)
          trainer.finishIngest()
        }
        while (!reporter.poll(TrainTask.PollMillis)) context.killTaskIfInterrupted()
        while (!checkpoints.isDone) {
          context.killTaskIfInterrupted()
          reporter.pollIfDue()
          Thread.sleep(TrainTask.WriteMillis)
        }
        LocalFolders.checkWorker(SparkEnv.get, rank)
        val weights = if (rank == 0) TaskResult.pieces(trainer.weights()).toSeq else Seq.empty
        TaskResult.Trained(rank, reporter.history, reporter.trace()) +: weights
      }
    }
  }

  /** Who was refused is told with the first news, or here where there will be none. */
  private def connect(trainer: NativeTrainer, meeting: Meeting): Unit =
    try trainer.connect(meeting.addresses, meeting.credentials)
    catch {
      case error: Throwable =>
        trainer.takeLog().foreach(line => logWarning(line))
        throw error
    }

  private def host: String = WorkerNetwork.host(SparkEnv.get, spec.interface)

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
      .put("threads", spec.workerCpus.threads.getOrElse(context.cpus()))
      .put("host", host)
      .put("asksAfterEpoch", spec.asksAfterEpoch)
    val env = SparkEnv.get
    val workersHere = RowSpace.workersPerExecutor(env.conf, spec.numWorkers, Some(spec.workerCpus.number))
    RowSpace.complete(task.withObject("/data"), env, workersHere)
    task.toString
  }
}

private[bloomery] object TrainTask {
  val PollMillis = 500L

  /** Between two looks whether the last checkpoint is written. */
  val WriteMillis = 20L
}
