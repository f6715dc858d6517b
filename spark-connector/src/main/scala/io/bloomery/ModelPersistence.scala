package io.bloomery

import io.bloomery.network.Network
import org.apache.spark.ml.bloomery.ModelMetadata
import org.apache.spark.ml.util.{MLReader, MLWriter}
import scala.util.control.NonFatal

/** Saves a model as Spark ML metadata plus the engine's own files. */
private[bloomery] final class ModelWriter(model: NeuralNetClassificationModel) extends MLWriter {
  override protected def saveImpl(path: String): Unit = {
    ModelMetadata.save(model, path, sparkSession)
    new ModelFolder(path, ModelMetadata.hadoopConf(sparkSession)).write(
      Seq(
        ModelFolder.Network -> model.network.toJson.getBytes("UTF-8"),
        ModelFolder.Weights -> model.weights,
        ModelFolder.History -> model.summary.toJson.getBytes("UTF-8")))
  }
}

private[bloomery] final class ModelReader extends MLReader[NeuralNetClassificationModel] {
  override def load(path: String): NeuralNetClassificationModel = {
    val files = new ModelFolder(path, ModelMetadata.hadoopConf(sparkSession)).read()
    def file(name: String): Array[Byte] =
      files.getOrElse(name, throw new UserError(s"Model folder does not list its $name: $path"))
    def text(name: String): String = new String(file(name), "UTF-8")
    def make(uid: String): NeuralNetClassificationModel =
      new NeuralNetClassificationModel(
        uid,
        Network.fromJson(text(ModelFolder.Network)),
        file(ModelFolder.Weights),
        TrainingSummary.fromJson(text(ModelFolder.History)))
    try ModelMetadata.load(path, sparkSession, make)
    catch {
      case error: BloomeryException => throw error
      case NonFatal(error) =>
        throw new UserError(s"Metadata of the model cannot be read; save it again: $path, $error")
          .initCause(error)
    }
  }
}
