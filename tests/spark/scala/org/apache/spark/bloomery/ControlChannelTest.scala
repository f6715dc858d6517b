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
    val board = new WorkerBoard(numWorkers, rank => s"partition $rank", _ => ())
    val show = (rank: Int, json: String) => { shown.add(s"$rank: $json"); () }
    val channel = new ControlChannel(env, numWorkers, credentials(numWorkers), show, None, board)
    val name = s"test-${System.nanoTime()}"
    val reference = env.setupEndpoint(name, channel)
    try body(channel, ControlClient.connect(name, _, _), () => shown.asScala.toSeq)
    finally env.stop(reference)
  }

  private def credentials(numWorkers: Int)(attempt: Int): Array[Array[Byte]] =
    Array.tabulate(numWorkers)(rank => s"of rank $rank in attempt $attempt".getBytes)

  private def meet(client: ControlClient, address: String, timeout: FiniteDuration = shortly): Future[Seq[String]] =
    Future(client.meet(address.getBytes, timeout, () => ()).addresses.toSeq.map(new String(_)))

  test("a worker learns how its clock stands against the driver's, which is the same one here") {
    withChannel(1) { (_, client, _) =>
      val clocks = client(0, 0).compareClocks()
      assert(math.abs(clocks.offset) < 1000000)
      assert(math.abs(clocks.workerMicros - System.nanoTime() / 1000) < 10000000)
    }
  }

  test("workers meet and get all addresses by rank") {
    withChannel(3) { (_, client, _) =>
      val met = Seq(2, 0, 1).map(rank => meet(client(0, rank), s"address $rank"))
      met.foreach { addresses =>
        assert(Await.result(addresses, shortly) == Seq("address 0", "address 1", "address 2"))
      }
    }
  }

  test("each worker gets its own credentials, of its attempt") {
    withChannel(2) { (_, client, _) =>
      val met = Seq(0, 1).map(rank => Future(client(3, rank).meet(Array.emptyByteArray, shortly, () => ())))
      val got = met.map(meeting => new String(Await.result(meeting, shortly).credentials))
      assert(got == Seq("of rank 0 in attempt 3", "of rank 1 in attempt 3"))
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

  test("a worker of a later attempt learns that the fit has failed, and the driver that Spark tries in vain") {
    withChannel(2) { (channel, client, _) =>
      client(0, 1).arrive("here", "0")
      client(0, 1).fail(Failure(new UserError("bad label")))
      client(0, 0).arrive("here", "1")
      assert(!channel.isTriedInVain)
      assert(intercept[StoppedByPeer](client(1, 0).arrive("here", "1")).rank == 1)
      assert(channel.isTriedInVain)
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

  test("a loss is answered with where the lost worker was and what it did last, and the first one is kept") {
    withChannel(3) { (channel, client, _) =>
      client(0, 1).arrive("blade", "7")
      client(0, 1).report(
        """{"state": "training", "epoch": 2, "step": 17, "doing": "allreduce of bucket 2 of 5 (64 bytes)"}""")
      val lost =
        new PeerLost("Lost contact with rank 1 during allreduce of bucket 1 of 5 (8 bytes) on rank 0 of 3: gone")
      val told = client(0, 0).lose(lost).getMessage
      assert(
        told.matches(
          "Lost contact with rank 1 during .* gone\\. Lost was rank 1 \\(host blade, executor 7, partition 1\\), last sign" +
            " of life \\d+\\.\\d s ago: epoch 2, step 17, allreduce of bucket 2 of 5 \\(64 bytes\\)"),
        told)
      val unknown = client(0, 2).lose(new PeerLost("Lost contact with rank 0 during something")).getMessage
      assert(unknown.endsWith("Lost was rank 0, which never said where it is"), unknown)
      assert(channel.losses.map(_.message) == Seq(told))
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
