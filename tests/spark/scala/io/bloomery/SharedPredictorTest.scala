package io.bloomery

import java.util.concurrent.{CyclicBarrier, TimeUnit}

import io.bloomery.engine.Json
import org.apache.spark.bloomery.PredictSpec
import org.apache.spark.ml.param.ParamMap
import org.scalatest.funsuite.AnyFunSuite

class SharedPredictorTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[8]"

  test("eight tasks at once share one copy of the weights") {
    val data = Tiny.data(spark, rows = 8000, partitions = 8)
    val model = Tiny.classifier.setEpochs(1).fit(data)
    val predictors = model
      .transform(data)
      .select("prediction")
      .rdd
      .mapPartitions { rows =>
        require(rows.hasNext)
        rows.next()
        SharedPredictorTest.meet()
        val live = Json.parse(Diagnostics.liveResources(), "live")
        SharedPredictorTest.meet()
        require(rows.size == 999)
        Iterator((live.get("handles").asLong(), live.get("predictors").asLong()))
      }
      .collect()
    assert(predictors.toSeq == Seq.fill(8)((1L, 1L)))
    assertNothingIsAlive()
  }

  test("copies of a model send its weights once") {
    val model = Tiny.classifier.setEpochs(1).fit(Tiny.data(spark))
    val copied = model.copy(ParamMap.empty).setPredictionCol("class")
    def spec(model: NeuralNetClassificationModel): PredictSpec = model.trained.shared.spec("task", spark.sparkContext)
    assert(spec(copied) == spec(model))
  }
}

object SharedPredictorTest {
  private val barrier = new CyclicBarrier(8)

  /** Waits until all tasks are here; in local mode they share this object. */
  def meet(): Unit = { barrier.await(30, TimeUnit.SECONDS); () }
}
