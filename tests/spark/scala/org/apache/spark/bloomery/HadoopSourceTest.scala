package org.apache.spark.bloomery

import java.io.InterruptedIOException
import java.nio.ByteBuffer
import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.bloomery.ParquetPart
import org.apache.spark.sql.catalyst.InternalRow
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.UserError

class HadoopSourceTest extends AnyFunSuite {
  private val content = Array.tabulate(3 << 20)(i => (i * 31 >> 3).toByte)

  private def written(): Path = Files.write(Files.createTempFile("source", ".bin"), content)

  /** As the driver would plan it; `scheme` file is read without a copy, rawfile through arrays. */
  private def partOf(file: Path, scheme: String = "file"): ParquetPart =
    ParquetPart(
      0,
      s"$scheme:$file",
      Files.size(file),
      Files.getLastModifiedTime(file).toMillis,
      Array(0),
      InternalRow.empty)

  private val configuration = {
    val configuration = new Configuration()
    configuration.set("fs.rawfile.impl", classOf[RawFiles].getName)
    configuration
  }

  private def read(source: HadoopSource, position: Long, count: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocateDirect(count)
    source.read(position, buffer)
    val bytes = new Array[Byte](count)
    buffer.flip().get(bytes)
    bytes
  }

  test("any range is read, straight or through arrays") {
    Seq("file", "rawfile").foreach { scheme =>
      Using.resource(HadoopSource.open(partOf(written(), scheme), configuration)) { source =>
        Seq((0L, 10), (7L, 1), (5L, (3 << 20) - 5), (0L, 0), ((3L << 20) - 1, 1)).foreach { case (position, count) =>
          val expected = content.slice(position.toInt, position.toInt + count)
          assert(read(source, position, count).sameElements(expected), s"$scheme $position $count")
        }
        assert(source.bytesRead == 10 + 1 + (3 << 20) - 5 + 1)
      }
    }
  }

  private def errorOf(file: Path, part: ParquetPart): String =
    intercept[UserError](HadoopSource.open(part, configuration).close()).getMessage
      .replace(file.toString, "F")

  test("a file that changed or vanished since it was planned with is refused") {
    val file = written()
    val part = partOf(file)
    Files.setLastModifiedTime(file, FileTime.fromMillis(part.modified + 2000))
    val changed = "File has changed since the DataFrame was made; refresh the DataFrame and fit again: file:F"
    assert(errorOf(file, part) == s"$changed, ${3 << 20} bytes, was ${3 << 20}")
    Files.write(file, content.take(100))
    assert(errorOf(file, part) == s"$changed, 100 bytes, was ${3 << 20}")
    Files.delete(file)
    assert(errorOf(file, part) == "File is no longer there; refresh the DataFrame and fit again: file:F")
  }

  test("a file that is cut off while it is read is named") {
    Seq("file", "rawfile").foreach { scheme =>
      val file = written()
      Using.resource(HadoopSource.open(partOf(file, scheme), configuration)) { source =>
        Files.write(file, content.take(100))
        val error = intercept[UserError](read(source, 50, 1000))
        assert(error.getMessage == s"File became shorter while it was read: $scheme:$file")
      }
    }
  }

  test("nothing is read after it was cancelled") {
    Using.resource(HadoopSource.open(partOf(written()), configuration)) { source =>
      source.cancel()
      assertThrows[InterruptedIOException](read(source, 0, 10))
    }
  }
}

/** Local files by a scheme of their own, which is read as any other file system. */
final class RawFiles extends org.apache.hadoop.fs.RawLocalFileSystem {
  override def getUri: java.net.URI = java.net.URI.create("rawfile:///")
}
