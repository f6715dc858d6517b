package org.apache.spark.bloomery

import scala.collection.mutable
import scala.util.{Failure => Error, Success}

import org.apache.spark.rpc.{RpcCallContext, RpcEnv, ThreadSafeRpcEndpoint}

import io.bloomery.engine.Progress

/** What workers tell the driver; `attempt` is the stage attempt that the worker belongs to. */
private[bloomery] sealed trait ControlMessage extends Serializable {
  def attempt: Int
}

/**
 * Here I am: answered once the last has come with the addresses of all by rank and with the secrets of the one that
 * asks, or with who failed.
 */
private[bloomery] final case class Meet(attempt: Int, rank: Int, address: Array[Byte])
    extends ControlMessage

/** Here I run: answered with the worker that failed in an attempt before, if one has. */
private[bloomery] final case class Hello(attempt: Int, rank: Int, host: String, executor: String)
    extends ControlMessage

/** How far I am, as the engine's JSON: answered with the worker that failed, if one has. */
private[bloomery] final case class Report(attempt: Int, rank: Int, progress: String)
    extends ControlMessage

/** I stop for this reason. */
private[bloomery] final case class Failed(attempt: Int, rank: Int, failure: Failure)
    extends ControlMessage

/** I lost a peer, and Spark may try again: answered with all that is known about it. */
private[bloomery] final case class Lost(attempt: Int, rank: Int, message: String)
    extends ControlMessage

/** Has anybody failed? */
private[bloomery] final case class AskFailed(attempt: Int) extends ControlMessage

/** What time is it? Answered with microseconds of the driver's clock. */
private[bloomery] final case class AskTime(attempt: Int) extends ControlMessage

/** An epoch has ended, as the engine's JSON: answered with whether the driver wants to stop, once it knows. */
private[bloomery] final case class EpochEnded(attempt: Int, epoch: String) extends ControlMessage

/** Who has not come yet? */
private[bloomery] final case class AskMissing(attempt: Int) extends ControlMessage

/**
 * The driver's end of one fit: workers meet here, report progress, and learn of the first worker
 * that failed. It lives in Spark's RpcEnv, whose authentication and encryption apply; messages are
 * handled one at a time. Replies are of Scala's own types only: on an executor the RpcEnv does not
 * see classes that came with spark.jars, and would close the connection. `credentials` makes the secrets of an attempt,
 * by rank; they are in no other message, and nowhere else on the driver.
 */
private[bloomery] final class ControlChannel(
    override val rpcEnv: RpcEnv,
    numWorkers: Int,
    credentials: Int => Array[Array[Byte]],
    onProgress: (Int, String) => Unit,
    checkpoints: Option[CheckpointBoard],
    workers: WorkerBoard,
    callbacks: Option[EpochCallbacks] = None,
    onMeeting: Int => Unit = _ => ())
    extends ThreadSafeRpcEndpoint {

  private val meetings = mutable.Map.empty[Int, mutable.Map[Int, (Array[Byte], RpcCallContext)]]
  private val failures = mutable.Map.empty[Int, Failed]
  @volatile private var latestFailure: Option[Failed] = None
  @volatile private var firstLosses: Seq[Lost] = Seq.empty
  @volatile private var triedInVain = false

  /** The first failure of the newest attempt that had one; read by the thread that called fit. */
  def firstFailure: Option[Failed] = latestFailure

  /** Whether Spark tries again after such a failure, because what the worker returned did not reach it. */
  def isTriedInVain: Boolean = triedInVain

  /** The first loss of the newest attempt that had one, and of all attempts. */
  def firstLoss: Option[Lost] = firstLosses.lastOption
  def losses: Seq[Lost] = firstLosses

  override def receiveAndReply(call: RpcCallContext): PartialFunction[Any, Unit] = {
    case Meet(attempt, rank, address) => meet(attempt, rank, address, call)
    case Hello(attempt, rank, host, executor) =>
      val failed = failures.collectFirst { case (earlier, failed) if earlier < attempt => failed.rank }
      if (failed.isEmpty) workers.arrived(attempt, rank, host, executor) else triedInVain = true
      call.reply(failed)
    case Report(attempt, rank, progress) =>
      onProgress(rank, progress)
      workers.reported(attempt, rank, Progress(progress))
      call.reply(failedRank(attempt))
    case failed: Failed =>
      record(failed)
      call.reply(true)
    case lost: Lost =>
      val completed = lost.copy(message = workers.complete(lost.message))
      if (!firstLosses.exists(_.attempt == lost.attempt)) firstLosses = firstLosses :+ completed
      call.reply(completed.message)
    case message: CheckpointMessage => checkpoints.foreach(_.handle(message, call))
    case EpochEnded(attempt, epoch) => callbacks.fold(call.reply(false))(tell(_, attempt, epoch, call))
    case AskFailed(attempt) => call.reply(failedRank(attempt))
    case AskTime(_) => call.reply(ControlChannel.micros())
    case AskMissing(attempt) =>
      call.reply((0 until numWorkers).filterNot(meeting(attempt).contains).toList)
  }

  private def meet(attempt: Int, rank: Int, address: Array[Byte], call: RpcCallContext): Unit = {
    val present = meeting(attempt)
    present(rank) = (address, call)
    failedRank(attempt).foreach(rank => dismiss(present, rank))
    if (present.size == numWorkers) {
      val addresses = Array.tabulate(numWorkers)(present(_)._1)
      val secrets = credentials(attempt)
      onMeeting(attempt)
      present.foreach { case (rank, (_, waiting)) => waiting.reply(Right((addresses, secrets(rank)))) }
    }
  }

  /** Where a function of the user throws, all workers hear that somebody failed and stop. */
  private def tell(callbacks: EpochCallbacks, attempt: Int, epoch: String, call: RpcCallContext): Unit =
    callbacks.tell(epoch) {
      case Success(stops) => call.reply(stops)
      case Error(error) =>
        self.ask[Boolean](Failed(attempt, ControlChannel.Driver, Failure(error)))
        ()
    }

  private def record(failed: Failed): Unit =
    if (!failures.contains(failed.attempt)) {
      failures(failed.attempt) = failed
      latestFailure = Some(failed)
      val present = meeting(failed.attempt)
      if (present.size < numWorkers) dismiss(present, failed.rank)
    }

  private def dismiss(
      present: mutable.Map[Int, (Array[Byte], RpcCallContext)],
      failedRank: Int): Unit = {
    present.values.foreach { case (_, waiting) => waiting.reply(Left(failedRank)) }
    present.clear()
  }

  private def failedRank(attempt: Int): Option[Int] = failures.get(attempt).map(_.rank)

  private def meeting(attempt: Int): mutable.Map[Int, (Array[Byte], RpcCallContext)] =
    meetings.getOrElseUpdate(attempt, mutable.Map.empty)
}

private[bloomery] object ControlChannel {

  /** The rank of a failure that is none of a worker's. */
  private val Driver = -1

  /** This machine's clock, which the engine's spans count by as well. */
  def micros(): Long = System.nanoTime() / 1000
}
