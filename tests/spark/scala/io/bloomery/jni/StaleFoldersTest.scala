package io.bloomery.jni

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

class StaleFoldersTest extends AnyFunSuite {
  private val hourAgo = Instant.now().minusSeconds(3600)

  private def folder(parent: Path, name: String, modified: Instant): Path = {
    val made = Files.createDirectories(parent.resolve(name))
    Files.writeString(made.resolve("libbloomery.so"), "x")
    Files.setLastModifiedTime(made, FileTime.from(modified))
  }

  test("only old folders of dead processes are swept") {
    val parent = Files.createTempDirectory("stale")
    val self = ProcessHandle.current().pid()
    val dead = folder(parent, "lib-999999999-a", hourAgo)
    val young = folder(parent, "lib-999999999-b", Instant.now())
    val alive = folder(parent, s"lib-$self-c", hourAgo)
    val foreign = folder(parent, "lib-of-somebody", hourAgo)
    StaleFolders.sweep(parent, "lib-")
    assert(!Files.exists(dead))
    assert(Seq(young, alive, foreign).forall(Files.exists(_)))
  }

  test("a parent that does not exist is no error") {
    StaleFolders.sweep(Path.of("/nonexistent/folder"), "lib-")
  }
}
