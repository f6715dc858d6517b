package org.apache.spark.bloomery

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

/** What is free, as the files of Linux tell it. */
class FreeMemoryTest extends AnyFunSuite {
  private val MiB = 1L << 20

  /** A folder with these files in it, which stands for Linux. */
  private def root(files: (String, String)*): Path = {
    val root = Files.createTempDirectory("linux")
    files.foreach { case (name, text) =>
      val file = root.resolve(name)
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
    root
  }

  private val machine =
    "proc/meminfo" -> s"MemTotal: ${9000 << 10} kB\nMemFree: 1 kB\nMemAvailable:  ${8000 << 10} kB\n"

  private def group(folder: String, limit: String, used: Long, files: Long): Seq[(String, String)] = Seq(
    s"$folder/memory.max" -> s"$limit\n",
    s"$folder/memory.current" -> s"${used * MiB}\n",
    s"$folder/memory.stat" -> s"anon 1\nfile 2\ninactive_file ${files * MiB}\n")

  private def oldGroup(folder: String, limit: Long, used: Long, files: Long): Seq[(String, String)] = Seq(
    s"$folder/memory.limit_in_bytes" -> s"$limit\n",
    s"$folder/memory.usage_in_bytes" -> s"${used * MiB}\n",
    s"$folder/memory.stat" -> s"inactive_file 7\ntotal_inactive_file ${files * MiB}\n")

  private def free(files: (String, String)*): Long = FreeMemory.now(root(files: _*)).bytes / MiB

  test("without a group the machine's memory counts") {
    assert(free(machine) == 8000)
    assert(FreeMemory.now(root(machine)).where == "of the machine")
    assert(FreeMemory.now(root()).bytes > 0)
    assert(FreeMemory.now().bytes > 0)
  }

  test("a group of version 2 has what is below its limit, without pages of files") {
    val own = "proc/self/cgroup" -> "0::/spark/executor\n"
    val folder = "sys/fs/cgroup/spark/executor"
    assert(free(Seq(machine, own) ++ group(folder, s"${2000 * MiB}", 700, 200): _*) == 1500)
    assert(free(Seq(machine, own) ++ group(folder, "max", 700, 200): _*) == 8000)
    assert(free(Seq(machine, own) ++ group(folder, s"${2000 * MiB}", 2500, 200): _*) == 0)
    assert(free(Seq(machine, own) ++ group(folder, s"${20000 * MiB}", 700, 200): _*) == 8000)
  }

  test("the limits of groups above count, too") {
    val files = group("sys/fs/cgroup/spark/executor", "max", 700, 0) ++
      group("sys/fs/cgroup/spark", s"${1000 * MiB}", 900, 50)
    val told = FreeMemory.now(root(Seq(machine, "proc/self/cgroup" -> "0::/spark/executor\n") ++ files: _*))
    assert(told.bytes == 150 * MiB)
    assert(told.where.startsWith("of 1000 MB of ") && told.where.endsWith("sys/fs/cgroup/spark"))
  }

  test("inside a container the group lies at the top") {
    val own = "proc/self/cgroup" -> "0::/\n"
    assert(free(Seq(machine, own) ++ group("sys/fs/cgroup", s"${500 * MiB}", 100, 0): _*) == 400)
    val old = "proc/self/cgroup" -> "5:cpu:/\n4:cpuset,memory:/docker/0123\n0::/\n"
    assert(free(Seq(machine, old) ++ oldGroup("sys/fs/cgroup/memory", 500 * MiB, 100, 20): _*) == 420)
  }

  test("a group of version 1 has what is below its limit") {
    val own = "proc/self/cgroup" -> "4:memory:/spark\n"
    assert(free(Seq(machine, own) ++ oldGroup("sys/fs/cgroup/memory/spark", 3000 * MiB, 700, 200): _*) == 2500)
    assert(free(Seq(machine, own) ++ oldGroup("sys/fs/cgroup/memory/spark", 0x7ffffffffffff000L, 700, 200): _*) == 8000)
  }
}
