package io.bloomery

import java.io.IOException
import java.nio.file.{Files, Path}

import org.apache.spark.ml.{Pipeline, PipelineModel}
import org.apache.spark.ml.util.MLWritable
import org.scalatest.funsuite.AnyFunSuite

class PersistenceTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  private lazy val data = Tiny.data(spark)
  private lazy val model = Tiny.classifier.setPredictionCol("class").fit(data)

  private def saved(): Path = {
    val folder = temporary("model").resolve("saved")
    model.save(folder.toString)
    folder
  }

  private def refused(folder: Path): String =
    intercept[UserError](NeuralNetClassificationModel.load(folder.toString)).getMessage

  test("a model comes back as it was saved") {
    val loaded = NeuralNetClassificationModel.load(saved().toString)
    assert(loaded.uid == model.uid)
    assert(loaded.network == model.network)
    assert(loaded.weights.toSeq == model.weights.toSeq)
    assert(loaded.summary.toJson == model.summary.toJson)
    assert(loaded.getPredictionCol == "class")
    val (before, after) = (model.transform(data), loaded.transform(data))
    assert(after.collect().toSeq == before.collect().toSeq)
  }

  test("an estimator and pipelines come back, too") {
    val folder = temporary("pipelines")
    val classifier = Tiny.classifier.setNumWorkers(2)
    classifier.save(folder.resolve("estimator").toString)
    val loaded = NeuralNetClassifier.load(folder.resolve("estimator").toString)
    assert(loaded.getNetwork == classifier.getNetwork)
    assert(loaded.extractParamMap().toSeq.map(_.value.toString).size ==
      classifier.extractParamMap().toSeq.map(_.value.toString).size)
    assert(loaded.getMetrics.toSeq == Seq("accuracy") && loaded.getNumWorkers == 2 && loaded.getSeed == 7)
    val pipeline = new Pipeline().setStages(Array(classifier)).fit(data)
    pipeline.save(folder.resolve("pipeline").toString)
    val predicted = PipelineModel.load(folder.resolve("pipeline").toString).transform(data)
    assert(predicted.collect().toSeq == pipeline.transform(data).collect().toSeq)
  }

  test("an existing path is kept unless overwriting is asked for") {
    val folder = saved()
    val error = intercept[IOException](model.save(folder.toString))
    assert(error.getMessage.contains("overwrite"))
    model.write.overwrite().save(folder.toString)
    assert(NeuralNetClassificationModel.load(folder.toString).weights.toSeq == model.weights.toSeq)
  }

  test("with the option format a model is exported instead") {
    val folder = temporary("export")
    def written(name: String, write: String => Unit): Seq[Byte] = {
      write(folder.resolve(name).toString)
      Files.readAllBytes(folder.resolve(name)).toSeq
    }
    assert(written("one", model.write.option("format", "onnx").save) == written("other", model.exportOnnx))
    val unknown = intercept[UserError](model.write.option("format", "pmml").save(folder.resolve("none").toString))
    assert(unknown.getMessage == "Unknown format of a model: pmml, known: onnx")
  }

  test("a folder that is not a whole model is refused with the file that is wrong") {
    assert(refused(temporary("none").resolve("nothing")).startsWith("No such model folder"))
    assert(refused(temporary("empty")).contains("no model.json"))

    val cut = saved().resolve("weights.safetensors")
    Files.write(cut, Files.readAllBytes(cut).dropRight(10))
    assert(
      refused(cut.getParent).startsWith("File of the model has the wrong size; save it again: weights.safetensors"))

    val changed = saved().resolve("network.json")
    val bytes = Files.readAllBytes(changed)
    Files.write(changed, bytes.updated(bytes.length / 2, 'x'.toByte))
    assert(refused(changed.getParent).startsWith("File of the model was changed; save it again: network.json"))

    val lost = saved().resolve("history.json")
    Files.delete(lost)
    assert(refused(lost.getParent).startsWith("File of the model is missing; save it again: history.json"))

    val unnoticed = saved().resolve("network.json")
    Files.delete(unnoticed.resolveSibling(".network.json.crc"))
    Files.write(unnoticed, bytes.updated(bytes.length / 2, 'x'.toByte))
    assert(refused(unnoticed.getParent).startsWith("File of the model was changed"))

    val unlisted = saved().resolve("model.json")
    Files.delete(unlisted.resolveSibling(".model.json.crc"))
    Files.writeString(unlisted, "{")
    assert(refused(unlisted.getParent).startsWith("Not valid JSON: model.json"))

    val noMetadata = saved()
    Files.list(noMetadata.resolve("metadata")).forEach(file => Files.delete(file))
    assert(refused(noMetadata).startsWith("Metadata of the model cannot be read"))

    val foreign = temporary("foreign").resolve("saved")
    Tiny.classifier.save(foreign.toString)
    assert(refused(foreign).startsWith("Not a model of Bloomery"))
  }

  test("what another class saved is refused with the class that reads it") {
    val folder = saved().toString
    def refusal(load: => Any): String = intercept[UserError](load).getMessage
    assert(
      refusal(NeuralNetRegressionModel.load(folder)) == "Another class was saved here; load it with" +
        s" NeuralNetClassificationModel, not NeuralNetRegressionModel: $folder")
    assert(
      refusal(NeuralNetClassifier.load(folder)) == "Another class was saved here; load it with" +
        s" NeuralNetClassificationModel, not NeuralNetClassifier: $folder")
    val empty = temporary("nothing")
    assert(refusal(NeuralNetClassifier.load(empty.toString)).startsWith("Not a saved estimator, or its saving did not"))
    val none = empty.resolve("none").toString
    assert(refusal(NeuralNetRegressor.load(none)) == s"No such folder of a saved estimator: $none")
  }

  test("a model or an estimator that cannot be saved is one sentence, before any job") {
    val below = Files.createFile(temporary("save").resolve("file")).resolve("below").toString
    Seq[(String, MLWritable)]("model" -> model, "estimator" -> Tiny.classifier).foreach { case (what, saved) =>
      Seq(below, "nofs://x/y").foreach { path =>
        val (error, counts) = failing[UserError](saved.save(path))
        assert(error.getMessage.startsWith(s"The $what cannot be saved here: $path, "))
        assert(error.getMessage.endsWith("; choose another folder"))
        assert(counts.jobs == 0)
      }
    }
  }

  test("a file of ONNX that cannot be written is one sentence") {
    val path = Files.createFile(temporary("export").resolve("file")).resolve("model.onnx")
    val error = intercept[UserError](model.exportOnnx(path.toString))
    assert(error.getMessage.startsWith(s"The ONNX file cannot be written to: $path, "))
    assert(error.getCause.isInstanceOf[IOException])
  }
}
