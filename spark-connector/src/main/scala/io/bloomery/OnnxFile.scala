package io.bloomery

import io.bloomery.engine.Engine
import io.bloomery.network.Network
import java.io.IOException
import org.apache.hadoop.fs.Path
import org.apache.spark.ml.bloomery.ModelMetadata
import org.apache.spark.sql.SparkSession
import scala.util.Using

/** A trained network as a file that other programs run. */
private[bloomery] object OnnxFile {
  def write(network: Network, weights: Array[Byte], path: String): Unit = {
    val bytes = Engine.exportOnnx(network.toJson, weights)
    try write(bytes, new Path(path))
    catch {
      case error: IOException =>
        throw new UserError(s"The ONNX file cannot be written to: $path, ${error.getMessage}").initCause(error)
    }
  }

  private def write(bytes: Array[Byte], file: Path): Unit = {
    val fileSystem = file.getFileSystem(ModelMetadata.hadoopConf(SparkSession.active))
    if (fileSystem.exists(file) && fileSystem.getFileStatus(file).isDirectory) {
      throw new UserError(s"exportOnnx writes a file, and this is a folder; add a name such as model.onnx: $file")
    }
    Using.resource(fileSystem.create(file, true))(_.write(bytes))
  }
}
