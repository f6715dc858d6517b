package org.apache.spark.ml.bloomery

import io.bloomery.UserError
import java.io.IOException
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.ml.{Estimator, Model}
import org.apache.spark.ml.util.{HasTrainingSummary, MLReader, MLWriter}
import org.apache.spark.sql.{DataFrame, Dataset}

/**
 * What the server of Spark Connect asks of an estimator and of the model that it keeps for a client: how large the model
 * is, and how it goes to the driver's own disk and comes back. Spark keeps these methods to itself, hence the package;
 * those that Spark 4.0 does not have are not called there. The server finds the classes by META-INF/services.
 */
abstract class ServedEstimator[M <: Model[M]] extends Estimator[M] {

  /** Bytes of the model that a fit would make, known before it. */
  protected def expectedBytes(dataset: Dataset[_]): Long

  private[spark] override def estimateModelSize(dataset: Dataset[_]): Long = expectedBytes(dataset)
}

abstract class ServedModel[M <: ServedModel[M, S], S] extends Model[M] with HasTrainingSummary[S] {

  /** What a client reaches of a model by name: a summary's text comes to it as that of any object with a uid. */
  override def summary: S

  protected def bytes: Long

  override def hasSummary: Boolean = true

  private[spark] override def estimatedSize: Long = bytes

  /** The model's own files have it. */
  private[spark] override def saveSummary(path: String): Unit = ()

  private[spark] override def loadSummary(path: String, dataset: DataFrame): Unit = ()
}

/** Goes to any path that Hadoop knows, or to the driver's own disk, whatever Hadoop's default file system is. */
private[bloomery] trait MaybeLocal {
  protected var isLocal = false

  /** The path as Hadoop is to understand it. */
  protected def hadoopPath(path: String): String = if (isLocal) s"file:$path" else path
}

/** Saves `what`, and refuses a path at which no folder can be in a sentence. */
abstract class ServedWriter(what: String) extends MLWriter with MaybeLocal {
  override def save(path: String): Unit = {
    refusing(path)(fileSystem(path)) // Spark asks it before anything else
    super.save(path)
  }

  /** Before a job of Spark tries its ways. */
  protected def makeFolder(path: String): Unit = refusing(path) {
    val folder = hadoopPath(path)
    if (!fileSystem(folder).mkdirs(new Path(folder))) throw new IOException("the folder cannot be made")
  }

  private def fileSystem(path: String): FileSystem =
    new Path(path).getFileSystem(ModelMetadata.hadoopConf(sparkSession))

  private def refusing[T](path: String)(action: => T): T =
    try action
    catch {
      case error @ (_: IOException | _: IllegalArgumentException) =>
        throw new UserError(s"The $what cannot be saved here: $path, ${error.getMessage}; choose another folder")
    }

  private[spark] override def saveToLocal(path: String): Unit = {
    isLocal = true
    super.saveToLocal(path)
  }
}

abstract class ServedReader[T] extends MLReader[T] with MaybeLocal {
  private[spark] override def loadFromLocal(path: String): T = {
    isLocal = true
    super.loadFromLocal(path)
  }
}
