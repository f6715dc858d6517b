package org.apache.spark.bloomery

import java.util.concurrent.ConcurrentLinkedQueue

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.{PeerLost, UserError}

class ControlChannelTest extends AnyFunSuite with SparkSuite {
  override def master: String = "local[2]"
  private implicit val threads: ExecutionContext = ExecutionContext.global
  private val shortly = 10.seconds

  private def withChannel(numWorkers: Int)(
      body: (ControlChannel, (Int, Int) => ControlClient, () => Seq[String]) => Unit): Unit = {
    spark.sparkContext
    val env = SparkEnv.get.rpcEnv
    val shown = new ConcurrentLinkedQueue[String]
    val channel = new ControlChannel(env, numWorkers, (rank, json) => { shown.add(s"$rank: $json"); () })
    val name = s"test-${System.nanoTime()}"
    val reference = env.setupEndpoint(name, channel)
    try body(channel, ControlClient.connect(name, _, _), () => shown.asScala.toSeq)
    finally env.stop(reference)
  }

  private def meet(client: ControlClient, address: String, timeout: FiniteDuration = shortly): Future[Seq[String]] =
    Future(client.meet(address.getBytes, timeout, () => ()).toSeq.map(new String(_)))

  test("workers meet and get all addresses by rank") {
    withChannel(3) { (_, client, _) =>
      val met = Seq(2, 0, 1).map(rank => meet(client(0, rank), s"address $rank"))
      met.foreach { addresses =>
        assert(Await.result(addresses, shortly) == Seq("address 0", "address 1", "address 2"))
      }
    }
  }

  test("attempts do not mix") {
    withChannel(2) { (_, client, _) =>
      val stale = meet(client(0, 0), "old", 1.second)
      val met = Seq(0, 1).map(rank => meet(client(1, rank), s"new $rank"))
      met.foreach(addresses => assert(Await.result(addresses, shortly) == Seq("new 0", "new 1")))
      val error = intercept[PeerLost](Await.result(stale, shortly))
      assert(error.getMessage == "Workers did not start within connectTimeout: ranks 1 after 1 s")
    }
  }

  test("a worker that waits learns at once that another one failed") {
    withChannel(2) { (channel, client, _) =>
      val waiting = meet(client(0, 0), "here", 1.minute)
      client(0, 1).fail(Failure(new UserError("bad label")))
      assert(intercept[StoppedByPeer](Await.result(waiting, shortly)).rank == 1)
      assert(intercept[StoppedByPeer](Await.result(meet(client(0, 0), "late"), shortly)).rank == 1)
      assert(channel.firstFailure.map(_.failure.message).contains("bad label"))
    }
  }

  test("a report is answered with the first failure") {
    withChannel(2) { (channel, client, shown) =>
      client(0, 0).report("""{"step":1}""")
      client(0, 1).report("""{"step":2}""")
      client(0, 1).fail(Failure(new UserError("first")))
      client(0, 0).fail(Failure(new UserError("second")))
      assert(intercept[StoppedByPeer](client(0, 0).report("""{"step":3}""")).rank == 1)
      assert(client(0, 0).failedPeer().contains(1))
      assert(channel.firstFailure.map(_.failure.message).contains("first"))
      assert(shown() == Seq("""0: {"step":1}""", """1: {"step":2}""", """0: {"step":3}"""))
    }
  }

  test("waiting ends when the task is killed") {
    withChannel(2) { (_, client, _) =>
      intercept[IllegalStateException] {
        client(0, 0).meet(Array.emptyByteArray, 1.minute, () => throw new IllegalStateException("killed"))
      }
    }
  }
}
