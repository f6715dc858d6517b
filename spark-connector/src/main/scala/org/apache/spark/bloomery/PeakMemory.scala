package org.apache.spark.bloomery

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

/** The most memory of the machine that this process has held so far: on an executor the JVM's and the engine's. */
private[bloomery] object PeakMemory {

  /** Where Linux tells it. */
  def bytes(status: Path = Path.of("/proc/self/status")): Option[Long] =
    Try(Files.readAllLines(status).asScala).toOption.toSeq.flatten.collectFirst { case s"VmHWM:$kilobytes kB" =>
      kilobytes.trim.toLong << 10
    }
}
