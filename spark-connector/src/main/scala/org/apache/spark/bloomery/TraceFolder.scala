package org.apache.spark.bloomery

import java.io.OutputStreamWriter
import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Instant, ZoneOffset}
import java.time.format.DateTimeFormatter

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.bloomery.UserError

/** Where fits leave their timelines: a folder of any Hadoop file system, a file for each fit. */
private[bloomery] final class TraceFolder(path: String, configuration: Configuration) {
  private val root = new Path(path)

  /** Refuses a path that cannot be written to, in one sentence. */
  def checkWritable(): Unit = {
    val probe = new Path(root, s".probe-${System.nanoTime()}")
    try {
      val fileSystem = root.getFileSystem(configuration)
      Using.resource(fileSystem.create(probe, true))(_.write(1))
      fileSystem.delete(probe, false)
      ()
    } catch {
      case NonFatal(error) =>
        throw new UserError(s"traceDir cannot be written to: $path, ${error.getMessage}; choose another folder")
    }
  }

  /** The file that it wrote. */
  def write(timeline: Timeline): Path = {
    val file = new Path(root, s"trace-${TraceFolder.Time.format(Instant.now())}.json")
    val out = root.getFileSystem(configuration).create(file, false)
    Using.resource(new OutputStreamWriter(out, UTF_8))(timeline.write)
    file
  }
}

private[bloomery] object TraceFolder {
  private val Time = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss-SSS").withZone(ZoneOffset.UTC)
}
