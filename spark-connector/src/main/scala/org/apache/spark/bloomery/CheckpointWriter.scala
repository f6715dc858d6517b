package org.apache.spark.bloomery

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.reflect.ClassTag
import scala.util.{Failure => Failed, Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging
import org.apache.spark.rpc.RpcEndpointRef
import org.apache.spark.util.{RpcUtils, SerializableConfiguration}

import io.bloomery.UserError
import io.bloomery.engine.{CheckpointState, NativeTrainer}

/**
 * What workers need to know of a fit's checkpoints; `attempt` counts jobs, a stage attempt is added. `damaged` are those
 * that are of no use to anybody.
 */
private[bloomery] final case class CheckpointTarget(
    path: String,
    keep: Int,
    run: String,
    restart: Int,
    source: String,
    damaged: Set[String],
    configuration: SerializableConfiguration) {
  def folder: CheckpointFolder = new CheckpointFolder(path, configuration.value)
  def attempt(stage: Int): String = s"$restart.$stage"
}

/** What a worker's task does about checkpoints. */
private[bloomery] trait WorkerCheckpoints extends AutoCloseable {

  /** Before the workers connect: takes up the checkpoint that the driver names. */
  def restore(): Unit

  /** After the training: true once everything is written. */
  def isDone: Boolean
}

/** Where none are wanted. */
private[bloomery] object NoCheckpoints extends WorkerCheckpoints {
  override def restore(): Unit = ()
  override def isDone: Boolean = true
  override def close(): Unit = ()
}

/**
 * A worker's part in checkpoints: takes up the one that the driver names, and writes new ones on a
 * thread of its own while training goes on. A checkpoint that cannot be written is told to the user
 * and does not end the training.
 */
private[bloomery] final class CheckpointWriter(
    target: CheckpointTarget,
    channel: RpcEndpointRef,
    trainer: NativeTrainer,
    stage: Int,
    rank: Int,
    numWorkers: Int,
    patience: FiniteDuration)
    extends WorkerCheckpoints
    with Logging {
  private val folder = target.folder
  @volatile private var ending = false
  @volatile private var stopped = false
  private val thread = new Thread(() => run(), s"${CheckpointWriter.ThreadName}-$rank")
  thread.setDaemon(true)

  override def restore(): Unit = {
    ask[Option[(String, Boolean)]](AskStart(stage)).foreach { case (name, weightsOnly) =>
      val manifest = folder.manifest(name).get
      add(manifest, CheckpointFolder.State, shared = true)
      if (!weightsOnly)
        add(manifest, CheckpointFolder.ofWorker(if (rank < manifest.workers) rank else 0), shared = false)
      if (weightsOnly) restoreWeights(name) else trainer.restore(recovers = manifest.run == target.run)
    }
    thread.start()
  }

  override def isDone: Boolean = {
    ending = true
    !thread.isAlive
  }

  override def close(): Unit = {
    stopped = true
    thread.interrupt()
    thread.join(CheckpointWriter.EndGrace.toMillis)
  }

  private def restoreWeights(name: String): Unit =
    try trainer.restoreWeights()
    catch {
      case error: UserError =>
        throw new UserError(
          s"Weights of checkpoint $name cannot be taken: ${error.getMessage}. Set the network as it was, or set resume" +
            " to \"never\" to start anew")
    }

  private def add(manifest: Manifest, name: String, shared: Boolean): Unit =
    manifest.file(name).foreach(file => folder.read(manifest.name, file)(trainer.addToState(shared, _)))

  private def run(): Unit =
    try {
      var last = false
      while (!stopped && !last) {
        last = ending // what was saved before the end is there now
        trainer.awaitCheckpoint(if (last) 0 else CheckpointWriter.PollMillis).foreach { state =>
          last = false
          try write(state)
          finally trainer.releaseCheckpoint()
        }
      }
    } catch {
      case _: InterruptedException if stopped => ()
      case NonFatal(error) if stopped => logDebug("A checkpoint was given up", error)
      case NonFatal(error) => tell(s"Checkpoints are not written any more: ${CheckpointFolder.reason(error)}")
    }

  private def write(state: CheckpointState): Unit = {
    val attempt = target.attempt(stage)
    val name = CheckpointFolder.nameOf(state.epoch, state.step, target.run, attempt)
    val written = Try {
      val shared = Option.when(rank == 0) {
        folder.write(name, CheckpointFolder.State, trainer.checkpointPieces(shared = true, state.sharedBytes))
      }
      val own = CheckpointFolder.ofWorker(rank)
      (shared, folder.write(name, own, trainer.checkpointPieces(shared = false, state.ownBytes)))
    }
    val part = written match {
      case Success((_, own)) => PartWritten(name, rank, own.name, own.bytes, own.checksum, "")
      case Failed(error) if NonFatal(error) && !stopped =>
        PartWritten(name, rank, "", 0, 0, CheckpointFolder.reason(error))
      case Failed(error) => throw error
    }
    ask[Boolean](part)
    if (rank == 0) complete(name, state, attempt, written.toOption.flatMap(_._1).toSeq)
  }

  /** Rank 0: the manifest comes when all parts are written; when one is not, none stays. */
  private def complete(name: String, state: CheckpointState, attempt: String, shared: Seq[CheckpointFile]): Unit =
    awaitParts(name, patience.fromNow) match {
      case Right(parts) =>
        val manifest = Manifest(
          target.run,
          attempt,
          state.epoch,
          state.step,
          numWorkers,
          state.finished,
          target.source,
          System.currentTimeMillis(),
          shared ++ parts)
        Try(folder.commit(manifest)) match {
          case Success(_) => prune(attempt)
          case Failed(error) if NonFatal(error) && !stopped =>
            giveUp(name, s"worker 0: ${CheckpointFolder.reason(error)}")
          case Failed(error) => throw error
        }
      case Left(problem) => giveUp(name, problem)
    }

  /** What stays too long costs room and nothing else. */
  private def prune(attempt: String): Unit =
    try folder.prune(target.run, attempt, target.keep, target.damaged)
    catch {
      case NonFatal(error) if !stopped =>
        tell(s"Older checkpoints cannot be removed: ${target.path}, ${CheckpointFolder.reason(error)}")
    }

  @tailrec
  private def awaitParts(name: String, deadline: Deadline): Either[String, Seq[CheckpointFile]] =
    ask[Option[Either[String, List[(String, Long, Long)]]]](AskParts(name)) match {
      case Some(answer) => answer.map(_.map { case (file, bytes, checksum) => CheckpointFile(file, bytes, checksum) })
      case None if deadline.isOverdue() => Left(s"parts of other workers are missing after $patience")
      case None =>
        Thread.sleep(CheckpointWriter.AskMillis)
        awaitParts(name, deadline)
    }

  private def giveUp(name: String, problem: String): Unit = {
    tell(s"Checkpoint was not written: $name, $problem. Training goes on")
    Try(folder.remove(name))
    ()
  }

  private def tell(text: String): Unit = {
    logWarning(text)
    Try(ask[Boolean](CheckpointNote(text)))
    ()
  }

  private def ask[T: ClassTag](message: CheckpointMessage): T = channel.askSync[T](message)
}

private[bloomery] object CheckpointWriter {
  val ThreadName = "bloomery-checkpoint"
  private val PollMillis = 200L
  private val AskMillis = 50L
  private val EndGrace = 2.seconds

  def open(
      target: CheckpointTarget,
      channelName: String,
      trainer: NativeTrainer,
      stage: Int,
      rank: Int,
      numWorkers: Int,
      patience: FiniteDuration): CheckpointWriter = {
    val env = SparkEnv.get
    val channel = RpcUtils.makeDriverRef(channelName, env.conf, env.rpcEnv)
    new CheckpointWriter(target, channel, trainer, stage, rank, numWorkers, patience)
  }
}
