package org.apache.spark.bloomery

import java.io.{EOFException, FileNotFoundException, InterruptedIOException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{NoSuchFileException, Paths, StandardOpenOption}
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.concurrent.atomic.AtomicLong

import scala.annotation.tailrec

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.util.functional.FutureIO
import org.apache.spark.sql.bloomery.{ChangedFiles, ParquetPart, ParquetPlan}

import io.bloomery.UserError
import io.bloomery.jni.ByteSource

/**
 * A file of any of Hadoop's file systems, opened on the task thread with the task's user and
 * tokens; the engine's reader threads only read at positions. Whoever opened it closes it.
 */
private[bloomery] final class HadoopSource private (path: String, bytes: PositionedBytes)
    extends ByteSource
    with AutoCloseable {
  // Threads of the engine know no class loader, and Hadoop may want to load something.
  private val loader = Thread.currentThread().getContextClassLoader
  private val readers = ConcurrentHashMap.newKeySet[Thread]()
  @volatile private var cancelled = false
  private val read = new AtomicLong

  def bytesRead: Long = read.get()

  override def read(position: Long, into: ByteBuffer): Unit = {
    val thread = Thread.currentThread()
    thread.setContextClassLoader(loader)
    readers.add(thread)
    try {
      if (cancelled) throw new InterruptedIOException(s"Reading was cancelled: $path")
      val count = into.remaining()
      bytes.read(position, into)
      read.addAndGet(count.toLong)
    } catch {
      case _: FileNotFoundException | _: NoSuchFileException => throw ParquetPlan.vanished(path)
      case _: EOFException => throw new UserError(s"File became shorter while it was read: $path")
      case error: ChecksumException => throw new UserError(s"File is damaged: $path: ${error.getMessage}")
    } finally {
      readers.remove(thread)
      ()
    }
  }

  override def isLocal: Boolean = bytes.areLocal

  override def cancel(): Unit = {
    cancelled = true
    readers.forEach(_.interrupt())
  }

  override def close(): Unit = bytes.close()
}

private[bloomery] object HadoopSource {

  /** Opens the file that was planned with; one that has changed since is refused. */
  def open(part: ParquetPart, configuration: Configuration): HadoopSource = {
    val path = new Path(part.path)
    val files = path.getFileSystem(configuration)
    try {
      val status = files.getFileStatus(path)
      ChangedFiles.difference(status, part.size, part.modified).foreach(throw _)
      new HadoopSource(part.path, bytesOf(files, status))
    } catch {
      case _: FileNotFoundException | _: NoSuchFileException => throw ParquetPlan.vanished(part.path)
    }
  }

  /** Hadoop's own and the one that Hive, when it is there as in PySpark, puts in front of it. */
  private val LocalFiles =
    Set(classOf[LocalFileSystem].getName, "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem")

  private def bytesOf(files: FileSystem, status: FileStatus): PositionedBytes =
    if (LocalFiles.contains(files.getClass.getName)) {
      // The same file without a copy through the heap; pages of Parquet carry their own checksums.
      new LocalBytes(FileChannel.open(Paths.get(status.getPath.toUri.getPath), StandardOpenOption.READ))
    } else {
      val stream = FutureIO.awaitFuture(files.openFile(status.getPath).withFileStatus(status).build())
      if (stream.hasCapability(StreamCapabilities.PREADBYTEBUFFER)) new DirectBytes(stream)
      else new CopiedBytes(stream)
    }
}

/** Fills a buffer from any position of an open file, on several threads at once. */
private[bloomery] trait PositionedBytes extends AutoCloseable {
  @throws[IOException]
  def read(position: Long, into: ByteBuffer): Unit

  /** Whether small reads are as good as large ones. */
  def areLocal: Boolean = false
}

private[bloomery] final class LocalBytes(channel: FileChannel) extends PositionedBytes {
  @tailrec
  override def read(position: Long, into: ByteBuffer): Unit =
    if (into.hasRemaining) {
      val count = channel.read(into, position)
      if (count < 0) throw new EOFException
      read(position + count, into)
    }

  override def areLocal: Boolean = true
  override def close(): Unit = channel.close()
}

private[bloomery] final class DirectBytes(stream: FSDataInputStream) extends PositionedBytes {
  override def read(position: Long, into: ByteBuffer): Unit = stream.readFully(position, into)
  override def close(): Unit = stream.close()
}

/** For streams that fill arrays only. */
private[bloomery] final class CopiedBytes(stream: FSDataInputStream) extends PositionedBytes {
  private val arrays = new ConcurrentLinkedQueue[Array[Byte]]

  override def read(position: Long, into: ByteBuffer): Unit = {
    val array = Option(arrays.poll()).getOrElse(new Array[Byte](CopiedBytes.ArrayBytes))
    copy(position, into, array)
    arrays.add(array)
    ()
  }

  @tailrec
  private def copy(position: Long, into: ByteBuffer, array: Array[Byte]): Unit =
    if (into.hasRemaining) {
      val count = math.min(into.remaining(), array.length)
      stream.readFully(position, array, 0, count)
      into.put(array, 0, count)
      copy(position + count, into, array)
    }

  override def close(): Unit = stream.close()
}

private[bloomery] object CopiedBytes {
  private val ArrayBytes = 1 << 20
}
