package io.bloomery

import io.bloomery.network.Network
import org.apache.spark.ml.bloomery.{ModelMetadata, ServedReader, ServedWriter}
import org.apache.spark.ml.util.{MLReadable, MLReader}
import scala.util.control.NonFatal

/** Saves a model as Spark ML metadata plus the engine's own files. */
private[bloomery] final class ModelWriter(model: NetworkModel[_]) extends ServedWriter("model") {

  /** With the option `format` one file of that format instead: a client of Spark Connect reaches options of a writer. */
  override def save(path: String): Unit = optionMap.get("format") match {
    case None => super.save(path)
    case Some("onnx") => model.exportOnnx(path)
    case Some(other) => throw new UserError(s"Unknown format of a model: $other, known: onnx")
  }

  override protected def saveImpl(path: String): Unit = {
    makeFolder(path)
    ModelMetadata.save(model, path, sparkSession)
    new ModelFolder(hadoopPath(path), ModelMetadata.hadoopConf(sparkSession)).write(
      Seq(
        ModelFolder.Network -> model.network.toJson.getBytes("UTF-8"),
        ModelFolder.Weights -> model.weights,
        ModelFolder.History -> model.summary.toJson.getBytes("UTF-8")))
  }
}

/** Saves an estimator, which is Spark ML metadata and no more. */
private[bloomery] final class EstimatorWriter(estimator: NetworkEstimator[_]) extends ServedWriter("estimator") {
  override protected def saveImpl(path: String): Unit = {
    makeFolder(path)
    ModelMetadata.save(estimator, path, sparkSession)
  }
}

private[bloomery] final class ModelReader[M <: NetworkModel[M]](
    className: String,
    make: (String, TrainedNetwork) => M)
    extends ServedReader[M] {
  override def load(path: String): M = {
    val files = new ModelFolder(hadoopPath(path), ModelMetadata.hadoopConf(sparkSession)).read()
    def text(name: String): String = new String(files(name), "UTF-8")
    def made(uid: String): M =
      make(
        uid,
        TrainedNetwork(
          Network.fromJson(text(ModelFolder.Network)),
          files(ModelFolder.Weights),
          TrainingSummary.fromJson(text(ModelFolder.History))))
    try ModelMetadata.load(path, sparkSession, className, made)
    catch {
      case error: BloomeryException => throw error
      case NonFatal(error) =>
        throw new UserError(s"Metadata of the model cannot be read; save it again: $path, $error")
          .initCause(error)
    }
  }
}

/** How an estimator is read back; the companion of its class. */
private[bloomery] abstract class NetworkEstimatorReadable[E <: NetworkEstimator[_]] extends MLReadable[E] {
  override def read: MLReader[E] = new MLReader[E] {
    override def load(path: String): E =
      ModelMetadata.loadEstimator[E](path, sparkSession, SavedClass.of(NetworkEstimatorReadable.this))
  }
}

private[bloomery] object SavedClass {

  /** The name of the class that this is the companion of. */
  def of(companion: MLReadable[_]): String = companion.getClass.getName.stripSuffix("$")
}
