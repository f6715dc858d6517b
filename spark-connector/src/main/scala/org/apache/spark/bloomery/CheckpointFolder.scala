package org.apache.spark.bloomery

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32C

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, FileSystem, FSDataInputStream, Path}

import io.bloomery.UserError
import io.bloomery.engine.Json

/** A file of a checkpoint as it was written. */
private[bloomery] final case class CheckpointFile(name: String, bytes: Long, checksum: Long)

/**
 * What makes files a checkpoint: where training goes on (step 0: between two epochs), who made it
 * and what belongs to it. `run` and `attempt` tell the fit and its attempt, `source` the files that
 * were trained on.
 */
private[bloomery] final case class Manifest(
    run: String,
    attempt: String,
    epoch: Long,
    step: Long,
    workers: Int,
    finished: Boolean,
    source: String,
    written: Long,
    files: Seq[CheckpointFile]) {
  def name: String = CheckpointFolder.nameOf(epoch, step, run, attempt)

  /** For the user. */
  def place: String =
    if (step == 0) s"the end of epoch ${epoch - 1}" else s"step $step of epoch $epoch"

  def file(name: String): Option[CheckpointFile] = files.find(_.name == name)
}

/**
 * The checkpoints below one path of any Hadoop file system, a folder each. Files are written as
 * they are; only a manifest, written last and with a checksum of its own, makes a checkpoint of
 * them, so that nothing depends on how the file system renames.
 */
private[bloomery] final class CheckpointFolder(path: String, configuration: Configuration) {
  import CheckpointFolder._

  private val root = new Path(path)
  private lazy val fileSystem: FileSystem = root.getFileSystem(configuration)

  def exists: Boolean = fileSystem.exists(root)

  /** Refuses a path that cannot be written to, in one sentence. */
  def checkWritable(): Unit = {
    val probe = new Path(root, s".probe-${System.nanoTime()}")
    try {
      Using.resource(fileSystem.create(probe, true))(_.write(1))
      fileSystem.delete(probe, false)
      ()
    } catch {
      case NonFatal(error) =>
        throw new UserError(s"checkpointPath cannot be written to: $path, ${reason(error)}; choose another folder")
    }
  }

  def write(checkpoint: String, file: String, pieces: Iterator[Array[Byte]]): CheckpointFile = {
    val checksum = new CRC32C
    var bytes = 0L
    Using.resource(fileSystem.create(new Path(new Path(root, checkpoint), file), true)) { out =>
      pieces.foreach { piece =>
        out.write(piece)
        checksum.update(piece)
        bytes += piece.length
      }
    }
    CheckpointFile(file, bytes, checksum.getValue)
  }

  def commit(manifest: Manifest): Unit = {
    write(manifest.name, ManifestFile, Iterator.single(toText(manifest).getBytes(UTF_8)))
    ()
  }

  /** Hands out a file in pieces; an IOException when it is not the one that was written. */
  def read(checkpoint: String, file: CheckpointFile)(take: Array[Byte] => Unit): Unit = {
    val checksum = new CRC32C
    val buffer = new Array[Byte](PieceBytes)
    var bytes = 0L
    opened(checkpoint, file.name) { in =>
      Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach { count =>
        checksum.update(buffer, 0, count)
        bytes += count
        take(buffer.take(count))
      }
    }
    if (bytes != file.bytes) throw new IOException(s"${file.name} has $bytes bytes of ${file.bytes}")
    if (checksum.getValue != file.checksum) throw new IOException(s"${file.name} was changed")
  }

  /** The manifest of a checkpoint, if it is one. */
  def manifest(checkpoint: String): Try[Manifest] = Try {
    fromText(opened(checkpoint, ManifestFile)(in => new String(in.readAllBytes(), UTF_8)))
  }

  /** All that have a manifest, the newest first, and by name what is wrong with those whose manifest is broken. */
  def list(): (Seq[Manifest], Map[String, String]) = {
    val read = folders().filter(hasManifest).map(name => name -> manifest(name))
    val broken = read.collect { case (name, Failure(error)) => name -> reason(error) }
    val whole = read.collect { case (_, Success(manifest)) => manifest }
    (whole.sortBy(m => (m.epoch, m.step, m.written)).reverse, broken.toMap)
  }

  /** What is wrong with a checkpoint's files, if anything is: all of them are read. */
  def problem(manifest: Manifest): Option[String] =
    manifest.files.iterator
      .flatMap(file => Try(read(manifest.name, file)(_ => ())).failed.toOption.map(reason))
      .nextOption()

  /**
   * Keeps the last checkpoints and removes the others, those of other fits first, those that are known to be
   * damaged, and what earlier attempts left unfinished. Called when a new one is whole.
   */
  def prune(run: String, attempt: String, keep: Int, damaged: Set[String] = Set.empty): Unit = {
    val (whole, _) = list()
    val (own, others) = whole.filterNot(manifest => damaged(manifest.name)).partition(_.run == run)
    val kept = (own ++ others).take(keep).map(_.name).toSet
    val wholeNames = whole.map(_.name).toSet
    folders().filterNot(kept).foreach { name =>
      if (wholeNames(name) || isOlder(name, run, attempt)) remove(name)
    }
  }

  def remove(checkpoint: String): Unit = {
    fileSystem.delete(new Path(root, checkpoint), true)
    ()
  }

  /** What a file system says of a file that is not as it was written, is not for users. */
  private def opened[T](checkpoint: String, file: String)(body: FSDataInputStream => T): T =
    try Using.resource(fileSystem.open(new Path(new Path(root, checkpoint), file)))(body)
    catch {
      case _: ChecksumException => throw new IOException(s"$file was changed")
      case _: FileNotFoundException => throw new IOException(s"$file is missing")
    }

  private def hasManifest(name: String): Boolean =
    fileSystem.exists(new Path(new Path(root, name), ManifestFile))

  private def folders(): Seq[String] =
    if (exists) {
      fileSystem.listStatus(root).toSeq.filter(_.isDirectory).map(_.getPath.getName).filter(NamePattern.matches)
    } else Seq.empty
}

private[bloomery] object CheckpointFolder {
  val State = "state.safetensors"
  def ofWorker(rank: Int): String = s"worker-$rank.json"

  private val ManifestFile = "manifest.json"
  private val Format = "bloomery-checkpoint"
  private val Version = 1
  private val PieceBytes = 4 << 20
  private val NamePattern = """epoch-\d+-step-\d+-([0-9a-f]+)-(\d+\.\d+)""".r

  def nameOf(epoch: Long, step: Long, run: String, attempt: String): String =
    f"epoch-$epoch%06d-step-$step%09d-$run-$attempt"

  /** What an exception says, without the stack it may carry in its message. */
  @tailrec
  def reason(error: Throwable): String = Option(error.getCause) match {
    // Hadoop wraps what the system said.
    case Some(cause) if error.getMessage == cause.toString => reason(cause)
    case _ =>
      Option(error.getMessage).map(_.linesIterator.next()).filter(_.nonEmpty).getOrElse(error.getClass.getSimpleName)
  }

  /** Whether a folder is of another fit, or of an attempt before this one. */
  private def isOlder(name: String, run: String, attempt: String): Boolean = name match {
    case NamePattern(`run`, other) => numbers(other) < numbers(attempt)
    case _ => true
  }

  private def numbers(attempt: String): Long = {
    attempt.split('.').foldLeft(0L)((sum, part) => sum * 1000000 + part.toLong)
  }

  private def checksum(text: String): String = {
    val sum = new CRC32C
    sum.update(text.getBytes(UTF_8))
    f"${sum.getValue}%08x"
  }

  private def toText(manifest: Manifest): String = {
    val files = manifest.files.map { file =>
      file.name -> Json.obj("bytes" -> file.bytes, "crc32c" -> file.checksum)
    }
    val json = Json
      .obj(
        "format" -> Format,
        "version" -> Version,
        "run" -> manifest.run,
        "attempt" -> manifest.attempt,
        "epoch" -> manifest.epoch,
        "step" -> manifest.step,
        "workers" -> manifest.workers,
        "finished" -> manifest.finished,
        "source" -> manifest.source,
        "written" -> manifest.written,
        "files" -> Json.obj(files: _*))
      .toString
    s"$json\n${checksum(json)}\n"
  }

  private def fromText(text: String): Manifest = {
    val lines = text.split('\n')
    if (lines.length != 2 || checksum(lines(0)) != lines(1)) throw new IOException(s"$ManifestFile was changed")
    val json = Json.parse(lines(0), ManifestFile)
    if (json.path("format").asText() != Format || json.path("version").asInt() != Version) {
      throw new IOException(s"$ManifestFile is of another version: ${json.path("version").asText()}")
    }
    Manifest(
      run = json.path("run").asText(),
      attempt = json.path("attempt").asText(),
      epoch = json.path("epoch").asLong(),
      step = json.path("step").asLong(),
      workers = json.path("workers").asInt(),
      finished = json.path("finished").asBoolean(),
      source = json.path("source").asText(),
      written = json.path("written").asLong(),
      files = json.path("files").properties().asScala.toSeq.map { entry =>
        CheckpointFile(entry.getKey, entry.getValue.path("bytes").asLong(), entry.getValue.path("crc32c").asLong())
      })
  }
}
