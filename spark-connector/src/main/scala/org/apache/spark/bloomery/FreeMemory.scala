package org.apache.spark.bloomery

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.sun.management.OperatingSystemMXBean

/** How many bytes are free, and what says so, for messages. */
private[bloomery] final case class FreeMemory(bytes: Long, where: String)

/**
 * What this process can still take: of the machine what Linux could give without swapping, and of every control group
 * that it is in, such as a container's, what lies below the limit.
 */
private[bloomery] object FreeMemory {

  /** Groups without a limit have one near the largest long. */
  private val NoLimit = 1L << 60

  /** `root` is where the files of Linux are. */
  def now(root: Path = Path.of("/")): FreeMemory = (machine(root) +: groups(root)).minBy(_.bytes)

  private def machine(root: Path): FreeMemory = {
    val system = ManagementFactory.getOperatingSystemMXBean.asInstanceOf[OperatingSystemMXBean]
    val available = lines(root.resolve("proc/meminfo")).collectFirst { case s"MemAvailable:$kilobytes kB" =>
      kilobytes.trim.toLong << 10
    }
    FreeMemory(available.getOrElse(system.getFreeMemorySize), "of the machine")
  }

  /** A group of version 2 is behind no controller's name. */
  private def groups(root: Path): Seq[FreeMemory] = lines(root.resolve("proc/self/cgroup")).flatMap {
    case s"$_:$controllers:$path" if controllers.split(',').contains("memory") =>
      levels(root.resolve("sys/fs/cgroup/memory"), path).flatMap(
        free(_, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"))
    case s"$_::$path" =>
      levels(root.resolve("sys/fs/cgroup"), path).flatMap(
        free(_, "memory.max", "memory.current", "inactive_file"))
    case _ => Seq.empty
  }

  /** A group and those above it, whose limits hold, too. Inside a container only what is above its own may be seen. */
  private def levels(top: Path, path: String): Seq[Path] =
    Iterator
      .iterate(Option(top.resolve(path.stripPrefix("/")).normalize()))(_.flatMap(group => Option(group.getParent)))
      .takeWhile(_.exists(_.startsWith(top)))
      .flatten
      .toSeq

  /** Pages of files are given up when memory is short. */
  private def free(group: Path, limit: String, usage: String, files: String): Option[FreeMemory] = for {
    most <- number(group.resolve(limit)) if most < NoLimit
    used <- number(group.resolve(usage))
  } yield {
    val reclaimable = lines(group.resolve("memory.stat")).collectFirst {
      case s"$name $bytes" if name == files => bytes.trim.toLong
    }
    FreeMemory(math.max(0, most - math.max(0, used - reclaimable.getOrElse(0L))), s"of ${most >> 20} MB of $group")
  }

  private def number(file: Path): Option[Long] = lines(file).headOption.flatMap(_.trim.toLongOption)

  private def lines(file: Path): Seq[String] = Try(Files.readAllLines(file).asScala.toSeq).getOrElse(Seq.empty)
}
