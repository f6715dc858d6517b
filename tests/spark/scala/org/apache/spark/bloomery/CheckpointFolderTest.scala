package org.apache.spark.bloomery

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.UserError

class CheckpointFolderTest extends AnyFunSuite {
  private def withFolder(body: (CheckpointFolder, Path) => Unit): Unit = {
    val path = Files.createTempDirectory("checkpoints")
    body(new CheckpointFolder(path.toString, new Configuration()), path)
  }

  private def save(folder: CheckpointFolder, epoch: Long, step: Long, run: String = "aa", attempt: String = "0.0") = {
    val name = CheckpointFolder.nameOf(epoch, step, run, attempt)
    val pieces = Seq("state of ".getBytes, s"$epoch.$step".getBytes)
    val files = Seq(folder.write(name, CheckpointFolder.State, pieces.iterator))
    val manifest = Manifest(run, attempt, epoch, step, 2, finished = false, "source", System.nanoTime(), files)
    folder.commit(manifest)
    manifest
  }

  private def names(path: Path): Set[String] = path.toFile.list().toSet

  test("what was committed comes back, the newest first") {
    withFolder { (folder, _) =>
      val first = save(folder, 2, 0)
      val third = save(folder, 3, 17)
      val second = save(folder, 3, 5)
      val (found, broken) = folder.list()
      assert(found == Seq(third, second, first))
      assert(broken.isEmpty)
      assert(folder.problem(third).isEmpty)
      val text = new StringBuilder
      folder.read(third.name, third.files.head)(bytes => text ++= new String(bytes))
      assert(text.toString == "state of 3.17")
    }
  }

  test("files without a manifest are no checkpoint, nor is a folder that somebody else made") {
    withFolder { (folder, path) =>
      folder.write(CheckpointFolder.nameOf(9, 0, "aa", "0.0"), CheckpointFolder.State, Iterator("x".getBytes))
      Files.createDirectory(path.resolve("mine"))
      assert(folder.list() == ((Seq.empty, Map.empty)))
      folder.prune("aa", "0.1", 2)
      assert(names(path) == Set("mine"))
    }
  }

  test("a file that was changed, cut off or removed is noticed, and a changed manifest as well") {
    withFolder { (folder, path) =>
      val manifest = save(folder, 2, 0)
      // Hadoop keeps checksums of local files beside them; other file systems do not.
      val file = path.resolve(manifest.name).resolve(CheckpointFolder.State)
      Files.delete(file.resolveSibling(s".${CheckpointFolder.State}.crc"))
      Files.write(file, "state of 2.1".getBytes)
      assert(folder.problem(manifest).contains("state.safetensors was changed"))
      Files.write(file, "state".getBytes)
      assert(folder.problem(manifest).contains("state.safetensors has 5 bytes of 12"))
      Files.delete(file)
      assert(folder.problem(manifest).contains("state.safetensors is missing"))
      val listing = path.resolve(manifest.name).resolve("manifest.json")
      Files.delete(listing.resolveSibling(".manifest.json.crc"))
      Files.write(listing, new String(Files.readAllBytes(listing)).replace("\"epoch\":2", "\"epoch\":3").getBytes)
      assert(folder.list() == ((Seq.empty, Map(manifest.name -> "manifest.json was changed"))))
    }
  }

  test("what Hadoop finds by its own checksums is told in the same words") {
    withFolder { (folder, path) =>
      val manifest = save(folder, 2, 0)
      Files.write(path.resolve(manifest.name).resolve(CheckpointFolder.State), "state of 2.1".getBytes)
      assert(folder.problem(manifest).contains("state.safetensors was changed"))
      val listing = path.resolve(manifest.name).resolve("manifest.json")
      Files.write(listing, new String(Files.readAllBytes(listing)).replace("\"epoch\":2", "\"epoch\":3").getBytes)
      assert(folder.list() == ((Seq.empty, Map(manifest.name -> "manifest.json was changed"))))
    }
  }

  test("damaged ones do not count among those that stay") {
    withFolder { (folder, path) =>
      val kept = save(folder, 2, 0, run = "bb")
      val damaged = save(folder, 3, 0, run = "bb")
      val now = save(folder, 3, 0)
      folder.prune("aa", "0.0", 2, Set(damaged.name))
      assert(names(path) == Set(kept.name, now.name))
    }
  }

  test("the newest stay, those of this fit before others, and what earlier attempts left is removed") {
    withFolder { (folder, path) =>
      val other = save(folder, 9, 0, run = "bb")
      val kept = Seq(save(folder, 2, 0), save(folder, 3, 0), save(folder, 4, 0, attempt = "0.1"))
      val earlier = CheckpointFolder.nameOf(5, 0, "aa", "0.0")
      val now = CheckpointFolder.nameOf(5, 0, "aa", "0.1")
      val later = CheckpointFolder.nameOf(5, 0, "aa", "1.0")
      Seq(earlier, now, later).foreach(name => folder.write(name, CheckpointFolder.State, Iterator("x".getBytes)))
      folder.prune("aa", "0.1", 2)
      assert(names(path) == Set(kept(1).name, kept(2).name, now, later))
      assert(!names(path)(other.name))
    }
  }

  test("a path that cannot be written to is refused in one sentence") {
    withFolder { (_, path) =>
      val file = Files.createFile(path.resolve("file"))
      val error = intercept[UserError](new CheckpointFolder(s"$file/below", new Configuration()).checkWritable())
      assert(error.getMessage.startsWith(s"checkpointPath cannot be written to: $file/below, "))
      assert(error.getMessage.endsWith("; choose another folder"))
      assert(!error.getMessage.contains("\n"))
      val unknown = intercept[UserError](new CheckpointFolder("nofs://x/y", new Configuration()).checkWritable())
      assert(unknown.getMessage.contains("nofs"))
      new CheckpointFolder(s"$path/new/folder", new Configuration()).checkWritable()
      assert(path.resolve("new/folder").toFile.list().isEmpty)
    }
  }
}
