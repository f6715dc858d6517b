package org.apache.spark.bloomery

import scala.annotation.tailrec
import scala.concurrent.{Await, Future, TimeoutException}
import scala.concurrent.duration._
import scala.util.control.NoStackTrace

import org.apache.spark.SparkEnv
import org.apache.spark.rpc.{RpcEndpointRef, RpcTimeout}
import org.apache.spark.util.{RpcUtils, ThreadUtils}

import io.bloomery.PeerLost

/** Another worker failed first: this one ends quietly and lets the driver throw that cause. */
private[bloomery] final class StoppedByPeer(val rank: Int)
    extends RuntimeException(s"Stopped by rank $rank")
    with NoStackTrace

/** Where all workers are, by rank, and what this one proves itself to them with: secret. */
private[bloomery] final class Meeting(val addresses: Array[Array[Byte]], val credentials: Array[Byte])

/** A worker's end of the control channel; used by the task thread only. */
private[bloomery] final class ControlClient(channel: RpcEndpointRef, attempt: Int, rank: Int) {

  /** Tells where this worker runs, and throws when the fit has failed in an attempt before. */
  def arrive(host: String, executor: String): Unit =
    channel
      .askSync[Option[Int]](Hello(attempt, rank, host, executor))
      .foreach(by => throw new StoppedByPeer(by))

  /** Waits for all workers; `check` throws to stop waiting. */
  def meet(address: Array[Byte], timeout: FiniteDuration, check: () => Unit): Meeting = {
    val deadline = timeout.fromNow
    val limit = new RpcTimeout(timeout + ControlClient.Grace, "bloomery.connectTimeout")
    val reply =
      channel.ask[Either[Int, (Array[Array[Byte]], Array[Byte])]](Meet(attempt, rank, address), limit)
    val met = await(reply, deadline, check).getOrElse {
      val missing = channel.askSync[List[Int]](AskMissing(attempt))
      throw new PeerLost(
        "Workers did not start within connectTimeout:" +
          s" ranks ${missing.mkString(", ")} after ${timeout.toSeconds} s")
    }
    met.fold(by => throw new StoppedByPeer(by), { case (addresses, own) => new Meeting(addresses, own) })
  }

  /** Tells how far this worker is, and throws when another one has failed. */
  def report(progress: String): Unit =
    channel
      .askSync[Option[Int]](Report(attempt, rank, progress))
      .filter(_ != rank)
      .foreach(by => throw new StoppedByPeer(by))

  /** This worker's clock against the driver's, from the question that was answered fastest. */
  def compareClocks(): ClockPair =
    Seq
      .fill(ControlClient.ClockQuestions) {
        val asked = ControlChannel.micros()
        val driver = channel.askSync[Long](AskTime(attempt))
        val answered = ControlChannel.micros()
        (answered - asked, ClockPair((asked + answered) / 2, driver))
      }
      .minBy(_._1)
      ._2

  /** Tells that an epoch has ended; the answer, whether to stop, may take as long as the user's functions do. */
  def epochEnded(epoch: String): Future[Boolean] =
    channel.ask[Boolean](
      EpochEnded(attempt, epoch),
      new RpcTimeout(ControlClient.LongestCallback, "bloomery.callbacks"))

  def fail(failure: Failure): Unit = {
    channel.askSync[Boolean](Failed(attempt, rank, failure))
    ()
  }

  /** Tells of a lost peer, and returns all that the driver knows about it. */
  def lose(lost: PeerLost): PeerLost =
    new PeerLost(channel.askSync[String](Lost(attempt, rank, lost.getMessage)))

  /** Who failed first, giving its message a moment to arrive: a lost connection is faster. */
  def failedPeer(): Option[Int] = {
    val deadline = ControlClient.Grace.fromNow
    @tailrec
    def ask(): Option[Int] =
      channel.askSync[Option[Int]](AskFailed(attempt)).filter(_ != rank) match {
        case None if deadline.hasTimeLeft() =>
          Thread.sleep(ControlClient.PollInterval.toMillis)
          ask()
        case answer => answer
      }
    ask()
  }

  @tailrec
  private def await[T](reply: Future[T], deadline: Deadline, check: () => Unit): Option[T] = {
    check()
    val ready =
      try {
        Await.ready(reply, ControlClient.PollInterval)
        true
      } catch { case _: TimeoutException => false }
    if (ready) Some(ThreadUtils.awaitResult(reply, Duration.Zero))
    else if (deadline.isOverdue()) None
    else await(reply, deadline, check)
  }
}

private[bloomery] object ControlClient {
  private val PollInterval = 100.millis
  private val ClockQuestions = 4
  private val LongestCallback = 7.days

  /** How long the first cause may take to reach the driver. */
  private val Grace = 2.seconds

  def connect(channelName: String, attempt: Int, rank: Int): ControlClient = {
    val env = SparkEnv.get
    new ControlClient(RpcUtils.makeDriverRef(channelName, env.conf, env.rpcEnv), attempt, rank)
  }
}
