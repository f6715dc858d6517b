package org.apache.spark.bloomery

import java.io.SequenceInputStream
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.SparkEnv
import org.apache.spark.io.CompressionCodec
import org.apache.spark.storage.{BlockId, BroadcastBlockId}
import org.scalatest.funsuite.AnyFunSuite

import io.bloomery.{EngineSuite, Tiny}
import io.bloomery.engine.Engine

/** What workers prove themselves with is in no place but the rendezvous reply. */
class SecretsTest extends AnyFunSuite with EngineSuite {
  private implicit val threads: ExecutionContext = ExecutionContext.global
  private val folder = temporary("worker-keys")
  private val eventLogs = Files.createDirectory(folder.resolve("events"))
  private val sparkFiles = Files.createDirectory(folder.resolve("spark"))
  private val executorFiles = Files.createDirectory(folder.resolve("executor"))

  override def master: String = "local-cluster[2,1,1024]"
  override def settings: Map[String, String] = Map(
    "spark.bloomery.network.encrypt" -> "true",
    // Workers meet over IPv6 where there is any, as nothing else here does.
    "spark.bloomery.network.interface" -> Try(WorkerNetwork.addressOf("::1")).getOrElse("lo"),
    "spark.eventLog.enabled" -> "true",
    "spark.eventLog.dir" -> eventLogs.toUri.toString,
    "spark.eventLog.compress" -> "false",
    "spark.local.dir" -> sparkFiles.toString,
    "spark.executor.extraJavaOptions" -> s"-Djava.io.tmpdir=$executorFiles")

  /** What the credentials of any worker have in them. */
  private val marks = Seq("PRIVATE KEY", "BEGIN CERTIFICATE", "\"secrets\"", "\\\"secrets\\\"")
  private def planted: String = new String(Engine.issueCredentials(2, 0, encrypt = true)(1), ISO_8859_1)
  private def shows(text: String): Boolean = marks.exists(text.contains(_))

  private def pieces(): Map[Long, Seq[BlockId]] =
    SparkEnv.get.blockManager
      .getMatchingBlockIds(_.isInstanceOf[BroadcastBlockId])
      .collect { case id @ BroadcastBlockId(number, field) if field.startsWith("piece") => number -> id }
      .groupMap(_._1)(_._2)
      .view
      .mapValues(_.sortBy(_.name.split("piece").last.toInt).map(id => id: BlockId))
      .toMap

  /** The text of a broadcast that this driver holds; nothing when it was removed meanwhile. */
  private def open(ids: Seq[BlockId]): Option[String] = Try {
    val manager = SparkEnv.get.blockManager
    val bytes = ids.map { id =>
      val data = manager.getLocalBytes(id).get
      try data.toByteBuffer() match {
          case buffer =>
            val copy = new Array[Byte](buffer.remaining())
            buffer.get(copy)
            copy
        }
      finally manager.releaseLockAndDispose(id, data)
    }
    val stream = new SequenceInputStream(bytes.map(new java.io.ByteArrayInputStream(_)).iterator.asJavaEnumeration)
    val codec = CompressionCodec.createCodec(SparkEnv.get.conf)
    Using.resource(codec.compressedInputStream(stream))(in => new String(in.readAllBytes(), ISO_8859_1))
  }.toOption

  private def filesBelow(folder: Path): Seq[Path] =
    Using.resource(Files.walk(folder))(_.iterator().asScala.filter(Files.isRegularFile(_)).toSeq)

  private def textOf(file: Path): String = Try(new String(Files.readAllBytes(file), ISO_8859_1)).getOrElse("")

  /** A library (`libarrow.so.2500` while it is unpacked) knows the marks of a key, too. */
  private def isCode(file: Path): Boolean = file.getFileName.toString.matches(""".*\.(jar|so(\.\d+)*)""")
  private def shownInFiles(): Seq[Path] =
    Try(Seq(sparkFiles, executorFiles).flatMap(filesBelow)).getOrElse(Seq.empty).filter { file =>
      !isCode(file) && shows(textOf(file))
    }

  /** How often the event log shows one. */
  private def shownInEvents(): Int = {
    spark.sparkContext.listenerBus.waitUntilEmpty()
    filesBelow(eventLogs).flatMap(textOf(_).linesIterator).count(shows)
  }

  test("the search finds a key that was planted") {
    val broadcast = spark.sparkContext.broadcast(planted)
    assert(pieces().get(broadcast.id).flatMap(open).exists(shows))
    broadcast.destroy()
    spark.sparkContext.setJobDescription(planted)
    spark.sparkContext.parallelize(0 until 2, 2).count()
    spark.sparkContext.setJobDescription("nothing secret")
    assert(shownInEvents() > 0)
    val file = Files.writeString(executorFiles.resolve("planted"), planted)
    assert(shownInFiles() == Seq(file))
    Files.delete(file)
  }

  private def setEncrypt(value: String): Unit = {
    spark.sparkContext.conf.set(WorkerNetwork.EncryptKey, value)
    spark.conf.set(WorkerNetwork.EncryptKey, value)
  }

  test("and none in broadcasts, event log, conf or files of a fit that encrypts") {
    val data = Tiny.data(spark)
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(10)
    val before = shownInEvents()
    val fit = Future(classifier.fit(data))
    val opened = Iterator
      .continually {
        Thread.sleep(20)
        val files = shownInFiles()
        assert(files.isEmpty)
        pieces()
      }
      .takeWhile(_ => !fit.isCompleted)
      .foldLeft(Map.empty[Long, String]) { (known, found) =>
        known ++ found.view.filterKeys(!known.contains(_)).flatMap { case (id, ids) => open(ids).map(id -> _) }
      }
    val model = Await.result(fit, 120.seconds)
    assert(opened.values.exists(_.contains("TrainTask")), s"the closure was among ${opened.size} broadcasts")
    assert(!opened.values.exists(shows))
    assert(shownInEvents() == before)
    assert(!spark.sparkContext.getConf.getAll.exists { case (_, value) => shows(value) })
    assert(shownInFiles().isEmpty)
    assert(model.summary.events.map(_.text).exists(_.contains("keys travel from the driver in plain text")))

    // The same bits as in plain text.
    setEncrypt("false")
    val plain =
      try classifier.fit(data)
      finally setEncrypt("true")
    assert(plain.weights.toSeq == model.weights.toSeq)
    assert(!plain.summary.events.exists(_.text.contains("keys travel")))

    // A session may ask for it where the conf does not, and not take back what the conf asks for.
    spark.sparkContext.conf.set(WorkerNetwork.EncryptKey, "false")
    assert(WorkerNetwork.encrypts(WorkerNetwork.conf(spark)))
    setEncrypt("true")
    spark.conf.set(WorkerNetwork.EncryptKey, "false")
    assert(WorkerNetwork.encrypts(WorkerNetwork.conf(spark)))
    setEncrypt("true")
    assertNothingIsAlive()
  }
}
