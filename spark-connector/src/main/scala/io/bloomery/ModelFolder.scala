package io.bloomery

import io.bloomery.engine.Json
import java.io.FileNotFoundException
import java.security.MessageDigest
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, FileSystem, Path}
import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * The engine's files of a saved model, on any Hadoop file system. `model.json` lists the others
 * with size and checksum and is written last, so that an unfinished save is recognised.
 */
private[bloomery] final class ModelFolder(path: String, hadoopConf: Configuration) {
  private val folder = new Path(path)
  private val fileSystem: FileSystem = folder.getFileSystem(hadoopConf)

  def write(files: Seq[(String, Array[Byte])]): Unit = {
    files.foreach { case (name, bytes) => writeFile(name, bytes) }
    val listing = files.map { case (name, bytes) =>
      name -> Json.obj("bytes" -> bytes.length, "sha256" -> ModelFolder.sha256(bytes))
    }
    val manifest = Json.obj(
      "format" -> ModelFolder.Format,
      "version" -> ModelFolder.Version,
      "files" -> Json.obj(listing: _*))
    writeFile(ModelFolder.Manifest, Json.pretty(manifest).getBytes("UTF-8"))
  }

  /** All files of the model, whole and unchanged, by name. */
  def read(): Map[String, Array[Byte]] = {
    val files = readListed()
    Seq(ModelFolder.Network, ModelFolder.Weights, ModelFolder.History).filterNot(files.contains).foreach { name =>
      throw new UserError(s"Model folder does not list its $name: $path")
    }
    files
  }

  private def readListed(): Map[String, Array[Byte]] = {
    if (!fileSystem.exists(folder)) throw new UserError(s"No such model folder: $path")
    if (!fileSystem.exists(new Path(folder, ModelFolder.Manifest))) {
      throw new UserError(
        "Not a model of Bloomery, or its saving did not end:" +
          s" no ${ModelFolder.Manifest} in $path")
    }
    val manifest = Json.parse(
      new String(readFile(ModelFolder.Manifest), "UTF-8"),
      s"${ModelFolder.Manifest} in $path")
    if (manifest.path("format").asText() != ModelFolder.Format) {
      throw new UserError(s"Not a model of Bloomery: ${ModelFolder.Manifest} in $path says so")
    }
    if (manifest.path("version").asInt() != ModelFolder.Version) {
      throw new UserError(
        "Model folder of a version that this release does not read; use the release that saved" +
          s" it: version ${manifest.path("version").asText()} in $path")
    }
    manifest.path("files").properties().asScala.map { entry =>
      val (name, listed) = (entry.getKey, entry.getValue)
      val size = sizeOf(name)
      if (size != listed.path("bytes").asLong()) {
        throw broken("has the wrong size", s"$name in $path, $size bytes of ${listed.path("bytes").asLong()}")
      }
      val bytes = readFile(name)
      if (ModelFolder.sha256(bytes) != listed.path("sha256").asText()) throw broken("was changed", s"$name in $path")
      name -> bytes
    }.toMap
  }

  private def broken(what: String, file: String): UserError =
    new UserError(s"File of the model $what; save it again: $file")

  private def sizeOf(name: String): Long =
    try fileSystem.getFileStatus(new Path(folder, name)).getLen
    catch { case _: FileNotFoundException => throw broken("is missing", s"$name in $path") }

  private def readFile(name: String): Array[Byte] =
    try {
      val bytes = new Array[Byte](sizeOf(name).toInt)
      Using.resource(fileSystem.open(new Path(folder, name)))(_.readFully(0L, bytes))
      bytes
    } catch {
      // Hadoop keeps checksums of its own beside local files.
      case _: ChecksumException => throw broken("was changed", s"$name in $path")
    }

  private def writeFile(name: String, bytes: Array[Byte]): Unit =
    Using.resource(fileSystem.create(new Path(folder, name), true))(_.write(bytes))
}

private[bloomery] object ModelFolder {
  val Network = "network.json"
  val Weights = "weights.safetensors"
  val History = "history.json"
  private val Manifest = "model.json"
  private val Format = "bloomery-model"
  private val Version = 1

  /** Those of a saved model. */
  def weights(path: String, hadoopConf: Configuration): Array[Byte] = new ModelFolder(path, hadoopConf).read()(Weights)

  private def sha256(bytes: Array[Byte]): String =
    MessageDigest.getInstance("SHA-256").digest(bytes).map("%02x".format(_)).mkString
}
