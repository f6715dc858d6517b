package io.bloomery

import java.util.concurrent.ConcurrentLinkedQueue
import org.apache.spark.TaskContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerStageSubmitted}
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** Workers with more cores than any other task, on a cluster whose tasks have one. */
class WorkerCpusTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local-cluster[2,2,1024]"

  /** How many cores the tasks of each kind of stage had, as they saw it themselves. */
  private def cores(classifier: NeuralNetClassifier): (Set[Int], Set[Int]) = {
    val context = spark.sparkContext
    val (before, training) = (context.collectionAccumulator[Int], context.collectionAccumulator[Int])
    def counting(seen: org.apache.spark.util.CollectionAccumulator[Int]) = udf { (label: Int) =>
      seen.add(TaskContext.get().cpus())
      label
    }
    val rows = Tiny
      .data(spark)
      .withColumn("label", counting(before)(col("label")))
      .repartition(4, col("id"))
      .withColumn("label", counting(training)(col("label")))
    assert(classifier.fit(rows).summary.history.length == 2)
    (before.value.asScala.toSet, training.value.asScala.toSet)
  }

  test("workers have the cores that are asked for, and the tasks before them keep theirs") {
    val profiles = new ConcurrentLinkedQueue[Int]
    val listener = new SparkListener {
      override def onStageSubmitted(submitted: SparkListenerStageSubmitted): Unit =
        if (submitted.stageInfo.rddInfos.exists(_.isBarrier)) {
          profiles.add(submitted.stageInfo.resourceProfileId)
          ()
        }
    }
    spark.sparkContext.addSparkListener(listener)
    val classifier = Tiny.classifier.setEpochs(2).setNumWorkers(2)
    val alone = classifier.fit(Tiny.data(spark)).weights.toSeq
    assert(cores(classifier) == ((Set(1), Set(1))))
    classifier.setWorkerCpus(2)
    assert(cores(classifier) == ((Set(1), Set(2))))
    assert(classifier.fit(Tiny.data(spark)).weights.toSeq == alone)
    spark.sparkContext.removeSparkListener(listener)
    assert(profiles.asScala.take(2).forall(_ == 0) && !profiles.asScala.drop(2).exists(_ == 0))
    assertNothingIsAlive()
  }

  test("more cores than an executor has are refused before any job") {
    val (error, counts) = failing[UserError](Tiny.classifier.setNumWorkers(2).setWorkerCpus(3).fit(Tiny.data(spark)))
    assert(
      error.getMessage.startsWith(
        "More workers than task slots this configuration can ever give; lower numWorkers or workerCpus or raise the" +
          " numbers in local-cluster[executors,cores,memory]: numWorkers 2, workerCpus 3, slots 0"))
    assert(counts.jobs == 0)
    val none = intercept[UserError](Tiny.classifier.setWorkerCpus(0).fit(Tiny.data(spark)))
    assert(none.getMessage == "workerCpus must be at least 1: 0")
  }

  test("describe tells who has which cores") {
    val text = Tiny.classifier.setWorkerCpus(2).describe(Tiny.data(spark))
    assert(text.contains("2 of each worker compute (workerCpus), whose tasks have as many cores; tasks before them"))
  }
}
