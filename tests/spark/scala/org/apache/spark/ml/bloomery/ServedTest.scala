package org.apache.spark.ml.bloomery

import io.bloomery._
import java.util.ServiceLoader
import org.apache.spark.ml.{Estimator, Transformer}
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._

/** What the server of Spark Connect does with the classes that the jar lists for it. */
class ServedTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data = Tiny.data(spark)
  private lazy val model = Tiny.classifier.fit(data)

  private def listed(kind: Class[_]): Set[Class[_]] =
    ServiceLoader.load(kind).stream().iterator().asScala.map(_.`type`(): Class[_]).toSet

  test("every estimator is found, and made from its uid") {
    val ours: Set[Class[_]] =
      Set(classOf[NeuralNetClassifier], classOf[NeuralNetRegressor], classOf[NeuralNetEstimator])
    assert(ours.subsetOf(listed(classOf[Estimator[_]])))
    ours.foreach { kind =>
      assert(kind.getConstructor(classOf[String]).newInstance("a uid").asInstanceOf[Estimator[_]].uid == "a uid")
      assert(kind.getMethod("load", classOf[String]).getReturnType == kind)
    }
  }

  test("every model is found, and loaded by its class alone") {
    val folder = temporary("served").resolve("model").toString
    model.save(folder)
    val ours: Set[Class[_]] =
      Set(classOf[NeuralNetClassificationModel], classOf[NeuralNetRegressionModel], classOf[NeuralNetModel])
    assert(ours.subsetOf(listed(classOf[Transformer])))
    val loaded = classOf[NeuralNetClassificationModel].getMethod("load", classOf[String]).invoke(null, folder)
    assert(loaded.asInstanceOf[NeuralNetClassificationModel].uid == model.uid)
  }

  test("a model goes to the driver's own disk and comes back, whatever Hadoop's default file system is") {
    val folder = temporary("served").resolve("model").toString
    spark.conf.set("fs.defaultFS", "hdfs://127.0.0.1:1")
    try {
      model.write.saveToLocal(folder)
      val loaded = NeuralNetClassificationModel.read.loadFromLocal(folder)
      assert(loaded.weights.toSeq == model.weights.toSeq)
      assert(loaded.hasSummary)
      assert(loaded.summary.toString == model.summary.toJson)
    } finally spark.conf.unset("fs.defaultFS")
  }

  test("the size of a model is that of its files, and known before a fit") {
    assert(Tiny.classifier.estimateModelSize(data) == 4 * model.numParameters)
    val files = model.weights.length + model.network.toJson.length + model.summary.toJson.length
    assert(model.estimatedSize == files)
  }
}
