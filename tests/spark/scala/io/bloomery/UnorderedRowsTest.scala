package io.bloomery

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.jdk.CollectionConverters._
import scala.util.Random

/** Behind a shuffle a row has no place that it keeps; which rows are for validation must not depend on it. */
class UnorderedRowsTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  /** Hardly moves its weights, so that its losses tell which rows were trained on and which were evaluated. */
  private def losses(data: DataFrame, numWorkers: Int = 1): (Long, Double, Double) = {
    val classifier = Tiny.classifier
      .setOptimizer("sgd")
      .setLearningRate(1e-30)
      .setEpochs(1)
      .setNumWorkers(numWorkers)
      .setValidationFraction(0.3)
    val epoch = failAfter(60.seconds)(classifier.fit(data)).summary.history.head
    (epoch.samples, epoch.loss, epoch.validationLoss.get)
  }

  private def assertSame(a: (Long, Double, Double), b: (Long, Double, Double)): Unit = {
    assert(a._1 == b._1)
    assert(math.abs(a._2 - b._2) < 1e-5 && math.abs(a._3 - b._3) < 1e-5, s"$a, $b")
    ()
  }

  /** The same rows in the same partitions of a shuffle, each time in another order. */
  private lazy val arrivals: Seq[DataFrame] = {
    val rows = Tiny.data(spark).collect().toSeq
    Seq(rows, rows.reverse, new Random(1).shuffle(rows)).map { rows =>
      spark.createDataFrame(rows.asJava, Tiny.data(spark).schema).repartition(3, col("id"))
    }
  }

  test("the same rows are for validation in whatever order they come out of a shuffle") {
    val ids = arrivals.map(_.select("id").collect().map(_.getLong(0)).toSeq)
    assert(ids.distinct.size == 3 && ids.map(_.sorted).distinct.size == 1)
    val all = arrivals.map(losses(_))
    assert(math.abs(all.head._1 - 420) < 60)
    all.tail.foreach(assertSame(all.head, _))
    arrivals.foreach(data => assertSame(losses(data, numWorkers = 2), all.head))
    // In other partitions, in a cache, and as Spark's own RDD.
    assertSame(losses(Tiny.data(spark).repartition(5)), all.head)
    val cached = arrivals.last.persist()
    try assertSame(losses(cached), all.head)
    finally { cached.unpersist(); () }
    val rows = spark.createDataFrame(Tiny.data(spark).rdd.repartition(4), Tiny.data(spark).schema)
    assertSame(losses(rows), all.head)
    // By their places they are others.
    assert(math.abs(losses(Tiny.data(spark))._3 - all.head._3) > 1e-4)
    assertNothingIsAlive()
  }
}
