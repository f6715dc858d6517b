package org.apache.spark.bloomery

import java.io.{FileNotFoundException, IOException}
import java.net.SocketTimeoutException

import org.apache.spark.{SparkException, TaskKilledException}
import org.apache.spark.shuffle.FetchFailedException
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

import io.bloomery.UserError

class FailureTest extends AnyFunSuite {
  private final class Unserializable extends RuntimeException("holds a thread") {
    val thread: Thread = Thread.currentThread()
  }

  test("an exception keeps class, message and cause on its way to the driver") {
    val sent = new IllegalArgumentException("bad row", new ArithmeticException("by zero"))
    val arrived = Failure(sent).toThrowable
    assert(arrived.getClass == sent.getClass)
    assert(arrived.getMessage == "bad row")
    assert(arrived.getCause.isInstanceOf[ArithmeticException])
  }

  test("an error of ours tells where the user called") {
    val arrived = Failure(new UserError("label out of range")).toThrowable
    assert(arrived.isInstanceOf[UserError])
    assert(arrived.getStackTrace.exists(_.getMethodName == "toThrowable"))
  }

  test("what cannot be serialised arrives as Spark's exception with class and message") {
    val arrived = Failure(new Unserializable).toThrowable
    assert(arrived.isInstanceOf[SparkException])
    assert(arrived.getMessage.contains("Unserializable") && arrived.getMessage.contains("holds a thread"))
  }

  test("only what Spark must handle belongs to Spark") {
    val fetchFailed = new FetchFailedException(null, 0, 0L, 0, 0, "gone")
    def ofFile(cause: Throwable) = new SparkException("FAILED_READ_FILE.NO_HINT", Map("path" -> "file:/a"), cause)
    val cases = Table[Throwable, Boolean](
      ("error", "sparks"),
      (new TaskKilledException, true),
      (fetchFailed, true),
      (new SparkException("wrapped", fetchFailed), true),
      (new IOException("disk"), true),
      (new InterruptedException, true),
      (new OutOfMemoryError, true),
      (ofFile(new IOException("read", new SocketTimeoutException("no answer"))), true),
      (ofFile(new IOException("FAILED_TO_UNCOMPRESS")), false),
      (ofFile(new FileNotFoundException("/a")), false),
      (new IllegalStateException("udf"), false),
      (new UserError("bad"), false))
    forAll(cases)((error, sparks) => assert(Failure.belongsToSpark(error) == sparks))
  }
}
