package io.bloomery

import java.io.IOException
import java.net.URI
import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import io.bloomery.network.{Dense, Input, Sequential}
import org.apache.hadoop.fs.{FSDataOutputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._
import org.scalatest.time.SpanSugar._

/** Files of this machine by another scheme, of which some cannot be written. */
final class FullFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("full:///")
  override def getScheme: String = "full"
  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    FullFileSystem.refuse(path)
    super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress)
  }
  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    FullFileSystem.refuse(path)
    super.create(path, overwrite, bufferSize, replication, blockSize, progress)
  }
}

object FullFileSystem {
  val refused = new AtomicReference[Option[String]](None)

  def refuse(path: Path): Unit =
    if (refused.get().exists(path.getName.contains)) throw new IOException("No space left on device")
}

class CheckpointTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"
  override def settings: Map[String, String] = Map("spark.hadoop.fs.full.impl" -> classOf[FullFileSystem].getName)

  private def folder(): LocalPath = temporary("checkpoints")
  private def names(path: LocalPath): Seq[String] =
    path.toFile.list().toSeq.filter(_.startsWith("epoch")).sorted
  private def classifier(path: Any): NeuralNetClassifier =
    Tiny.classifier.setNumWorkers(2).setCheckpointPath(path.toString)
  private def fit(classifier: NeuralNetClassifier): NeuralNetClassificationModel =
    failAfter(60.seconds)(classifier.fit(Tiny.data(spark)))
  private lazy val undisturbed = fit(Tiny.classifier.setNumWorkers(2))
  private def texts(model: NeuralNetClassificationModel): Seq[String] = model.summary.events.map(_.text)

  private def interrupted(path: Any, epochs: Int): Unit = { fit(classifier(path).setEpochs(epochs)); () }

  test("checkpoints change nothing of the result, and the last two stay") {
    val path = folder()
    val model = fit(classifier(path))
    assert(model.weights.toSeq == undisturbed.weights.toSeq)
    // One that was due while another was being written came later, or was left out.
    assert(names(path).size == 2)
    assert(names(path).last.startsWith("epoch-000006-step-000000000-"))
    assert(path.resolve(names(path).last).toFile.list().toSet.filterNot(_.startsWith(".")) ==
      Set("manifest.json", "state.safetensors", "worker-0.json", "worker-1.json"))
    assert(texts(model).isEmpty)
    assertNothingIsAlive()
  }

  test("a later fit with more epochs goes on where the first ended, with the same bits and all epochs in its history") {
    val path = folder()
    interrupted(path, 3)
    val model = fit(classifier(path))
    assert(model.weights.toSeq == undisturbed.weights.toSeq)
    assert(model.summary.history.map(_.loss) == undisturbed.summary.history.map(_.loss))
    assert(model.summary.workerHistory.map(_.map(_.rows)) == Seq.fill(2)(Seq.fill(5)(300L)))
    assert(texts(model) == Seq("Training goes on from where it ended, the end of epoch 3"))
    assertNothingIsAlive()
  }

  test("a fit that had ended gives its model again") {
    val path = folder()
    interrupted(path, 5)
    val model = fit(classifier(path))
    assert(model.weights.toSeq == undisturbed.weights.toSeq)
    assert(model.summary.history.size == 5)
    assert(texts(model) ==
      Seq("Training had ended already, at the end of epoch 5, and nothing is left to do; raise epochs to go on"))
  }

  test("steps and minutes save inside epochs") {
    val path = folder()
    val model = fit(classifier(path).setCheckpointSteps(7).setKeepCheckpoints(100))
    assert(model.weights.toSeq == undisturbed.weights.toSeq)
    val inside = names(path).filterNot(_.contains("step-000000000"))
    assert(inside.nonEmpty, names(path))
    // As if the fit had been killed behind its first checkpoint.
    names(path).filter(_ > inside.head).foreach(name => delete(path.resolve(name)))
    val again = fit(classifier(path))
    assert(again.weights.toSeq == undisturbed.weights.toSeq)
    assert(again.summary.history.map(_.loss) == undisturbed.summary.history.map(_.loss))
    assert(texts(again).exists(_.matches("Training goes on from step \\d+ of epoch \\d+, checkpoint .*")), texts(again))
    val minutes = folder()
    fit(classifier(minutes).setCheckpointMinutes(1e-6).setKeepCheckpoints(100))
    assert(names(minutes).size > 1)
  }

  test("a newest checkpoint that was changed is passed over with a word") {
    val path = folder()
    interrupted(path, 3)
    val newest = path.resolve(names(path).last)
    damage(newest)
    val model = fit(classifier(path))
    assert(model.weights.toSeq == undisturbed.weights.toSeq)
    assert(texts(model).head == s"Checkpoint is passed over: ${newest.getFileName}: state.safetensors was changed")
    assert(texts(model)(1).matches("Training goes on from .* epoch [123], checkpoint .*"), texts(model))
  }

  test("where all are damaged, training starts over and says so") {
    val path = folder()
    interrupted(path, 3)
    val damaged = names(path).reverse
    damaged.foreach(name => damage(path.resolve(name)))
    val error = intercept[UserError](fit(classifier(path).setResume("weights")))
    assert(error.getMessage.startsWith(s"resume is weights, but there is no whole checkpoint in $path; "))
    assert(names(path) == damaged.reverse)
    val model = fit(classifier(path))
    assert(model.weights.toSeq == undisturbed.weights.toSeq)
    assert(texts(model) ==
      damaged.map(name => s"Checkpoint is passed over: $name: state.safetensors was changed") :+
      (s"No whole checkpoint is left in $path: training starts over from the beginning, and its first checkpoint takes" +
        " the place of the damaged ones"))
    assert(names(path).size == 2 && names(path).intersect(damaged).isEmpty)
  }

  test("other settings, other data and fewer epochs are refused with the difference") {
    val path = folder()
    interrupted(path, 2)
    val data = Tiny.data(spark)
    val cases = Table(
      ("fit", "said"),
      (
        () => classifier(path).setBatchSize(10).fit(data),
        "Settings differ from the checkpoint's: batchSize 10, was 20."),
      (
        () => classifier(path).setLearningRate(0.5).fit(data),
        "Settings differ from the checkpoint's: optimizer.learningRate 0.5, was 0.02."),
      (() => classifier(path).setSeed(8).fit(data), "seed 8, was 7"),
      (
        () => classifier(path).fit(Tiny.data(spark, rows = 500)),
        "Data differs from the checkpoint's: 500 rows to train on and 0 to validate on, were 600 and 0."),
      (
        () => classifier(path).setEpochs(1).fit(data),
        "Checkpoint has trained more epochs than asked for: 2, epochs: 1."))
    forAll(cases) { (fit, said) =>
      val error = failAfter(60.seconds)(intercept[UserError](fit()))
      assert(error.getMessage.contains(said))
      assert(error.getMessage.contains("checkpointPath"))
    }
    assertNothingIsAlive()
  }

  test("resume weights takes the weights alone, never starts anew") {
    val path = folder()
    interrupted(path, 2)
    val weights = fit(classifier(path).setResume("weights").setLearningRate(1e-9).setEpochs(1))
    assert(math.abs(weights.summary.history.head.loss - undisturbed.summary.history(1).loss) < 0.2)
    assert(texts(weights).head.startsWith("Training starts with the weights of the end of epoch 2, checkpoint epoch-"))
    val wider = Sequential("wider")(Input(4), Dense(17, activation = "relu"), Dense(3, activation = "softmax"))
    val error = intercept[UserError](fit(classifier(path).setResume("weights").setNetwork(wider)))
    assert(error.getMessage == s"Weights of checkpoint ${names(path).last} cannot be taken: Wrong shape of tensor" +
      " 'dense/kernel': (4, 16), wanted (4, 17). Set the network as it was, or set resume to \"never\" to start anew")
    val anew = fit(classifier(path).setResume("never"))
    assert(anew.weights.toSeq == undisturbed.weights.toSeq)
    assert(texts(anew).isEmpty)
    assert(names(path).size == 2)
  }

  test("another number of workers goes on between epochs only") {
    val path = folder()
    interrupted(path, 2)
    val one = fit(classifier(path).setNumWorkers(1).setEpochs(3))
    assert(one.summary.history.map(_.samples) == Seq.fill(3)(600L))
    val inside = folder()
    fit(classifier(inside).setCheckpointInterval(-1).setCheckpointSteps(7).setKeepCheckpoints(100).setEpochs(2))
    names(inside).filter(_.contains("step-000000000")).foreach(name => delete(inside.resolve(name)))
    val error = intercept[UserError](fit(classifier(inside).setNumWorkers(1)))
    assert(error.getMessage.contains("made by another number of workers: 2, now 1"))
  }

  test("a checkpoint that cannot be written is told, and training goes on") {
    Seq("state" -> "worker 0", "worker-1" -> "worker 1", "manifest" -> "worker 0").foreach { case (file, worker) =>
      val path = folder()
      FullFileSystem.refused.set(Some(file))
      try {
        val model = fit(classifier(s"full:$path"))
        assert(model.weights.toSeq == undisturbed.weights.toSeq)
        assert(texts(model).nonEmpty)
        texts(model).foreach { text =>
          assert(
            text.matches(s"Checkpoint was not written: epoch-.*, $worker: No space left on device. Training goes on"))
        }
        assert(names(path).isEmpty, "nothing incomplete is left")
      } finally FullFileSystem.refused.set(None)
      assertNothingIsAlive()
    }
  }

  test("what cannot be meant is refused before any job") {
    val data = Tiny.data(spark)
    val file = Files.createFile(folder().resolve("file"))
    val missing = folder().resolve("missing")
    val cases = Table(
      ("classifier", "said"),
      (Tiny.classifier.setCheckpointInterval(2), "checkpointInterval is set, but checkpointPath is not"),
      (Tiny.classifier.setResume("weights"), "resume is set, but checkpointPath is not"),
      (classifier(folder()).setResume("yes"), "resume must be auto, weights, never: yes"),
      (classifier(folder()).setCheckpointInterval(0), "checkpointInterval must be at least 1 epoch, or -1: 0"),
      (classifier(folder()).setCheckpointSteps(0), "Not positive: checkpointSteps 0, give at least 1"),
      (classifier(folder()).setCheckpointMinutes(0), "Not positive: checkpointMinutes 0, give minutes above 0"),
      (classifier(folder()).setKeepCheckpoints(0), "keepCheckpoints must be at least 1: 0"),
      (Tiny.classifier.setMaxRestarts(-1), "maxRestarts must be at least 0: -1"),
      (classifier(s"$file/below"), "checkpointPath cannot be written to"),
      (classifier(folder()).setResume("weights"), "resume is weights, but there is no whole checkpoint in"),
      (classifier(missing).setResume("weights"), s"no whole checkpoint in $missing; give the checkpointPath of an"))
    forAll(cases) { (classifier, said) =>
      val (error, counts) = failing[UserError](classifier.fit(data))
      assert(error.getMessage.contains(said))
      assert(counts.jobs == 0)
    }
    assert(!Files.exists(missing))
  }

  private val otherPlaces =
    "Rows are in other places than when the checkpoint was made: the result is not that of an undisturbed run"
  private val otherValues =
    "Data differs from the checkpoint's: 600 rows to train on and 0 to validate on as before, but with" +
      " other values. Take another checkpointPath, or set resume to \"weights\""

  test("as many rows with other values are refused, by any number of workers") {
    val path = folder()
    interrupted(path, 2)
    val data = Tiny.data(spark)
    val others = Seq(
      data.selectExpr("id", "transform(features, x -> x * 2) as features", "label"),
      data.selectExpr("id", "features", "if(id = 345, (label + 1) % 3, label) as label"),
      data.selectExpr("id", "features", "(label + int(id % 2)) % 3 as label").repartition(4))
    others.foreach { other =>
      Seq(1, 2).foreach { workers =>
        val error = failAfter(60.seconds)(intercept[UserError](classifier(path).setNumWorkers(workers).fit(other)))
        assert(error.getMessage == otherValues)
      }
    }
    assertNothingIsAlive()
  }

  test("rows that lie in other partitions are the same ones") {
    val path = folder()
    interrupted(path, 2)
    val model = failAfter(60.seconds)(classifier(path).setNumWorkers(1).fit(Tiny.data(spark, partitions = 3)))
    assert(texts(model) == Seq("Training goes on from where it ended, the end of epoch 2", otherPlaces))
    assert(model.summary.history.map(_.samples) == Seq.fill(5)(600L))
  }

  test("the same rows may come another way, others may not") {
    val to = temporary("files").resolve("data").toString
    Tiny.data(spark, partitions = 2).write.parquet(to)
    val files = spark.read.parquet(to)
    val path = folder()
    classifier(path).setEpochs(2).fit(files)
    val error =
      intercept[UserError](classifier(path).fit(files.selectExpr("features", "2 - label as label").distinct()))
    assert(error.getMessage == otherValues)
    Seq(("rows", 3, Seq(otherPlaces)), ("columnar", 4, Seq.empty), ("auto", 5, Seq(otherPlaces))).foreach {
      case (way, epochs, moved) =>
        spark.conf.set("spark.bloomery.input.path", way)
        try {
          assert(
            texts(classifier(path).setEpochs(epochs).fit(files)) ==
              s"Training goes on from where it ended, the end of epoch ${epochs - 1}" +: moved)
        } finally spark.conf.unset("spark.bloomery.input.path")
    }
  }

  test("other files are told in words") {
    val files = Seq.fill(2) {
      val to = temporary("files").resolve("data").toString
      Tiny.data(spark, partitions = 2).write.parquet(to)
      spark.read.parquet(to)
    }
    val path = folder()
    classifier(path).setEpochs(2).fit(files.head)
    val error = intercept[UserError](classifier(path).fit(files.last))
    assert(error.getMessage == "Data differs from the checkpoint's: 2 Parquet files of 600 rows as before, but with" +
      " other names or sizes. Take another checkpointPath, or set resume to \"weights\"")
  }

  private def damage(checkpoint: LocalPath): Unit = {
    val state = checkpoint.resolve("state.safetensors")
    val bytes = Files.readAllBytes(state)
    bytes(bytes.length - 1) = (bytes.last ^ 1).toByte
    Files.write(state, bytes)
    ()
  }

  private def delete(folder: LocalPath): Unit =
    Files.walk(folder).iterator().asScala.toSeq.reverse.foreach(Files.delete(_))
}
