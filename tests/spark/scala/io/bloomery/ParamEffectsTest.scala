package io.bloomery

import io.bloomery.network._
import java.io.{ByteArrayOutputStream, PrintStream}
import java.nio.file.{Files, Path}
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}

/**
 * A param that is accepted is honoured: each param of each estimator has a row with two values, and something that a
 * user can see and that must differ between them. A param without a row fails the test.
 */
class ParamEffectsTest extends AnyFunSuite with EngineSuite {
  import ParamEffectsTest._

  override def master: String = "local[2]"

  private lazy val data: DataFrame = Tiny
    .data(spark, rows = 80, partitions = 3)
    .selectExpr(
      "features",
      "reverse(features) as other",
      "features[0] as a",
      "features[1] as b",
      "features[2] as c",
      "features[3] as d",
      "if(id % 7 = 0, null, features[0]) as holey",
      "transform(features, x -> if(id % 7 = 0, float('nan'), x)) as broken",
      "label",
      "(label + 1) % 3 as shifted",
      "array('a', 'b', 'c')[label] as word",
      "double(1 + id % 3) as w",
      "id % 4 = 0 as held",
      "features[0] + features[1] as total",
      "features[2] - features[3] as rest")

  /** An estimator with its rows; fits of the same values are made once. */
  private final class Subject(make: () => NetworkEstimator[_], val effects: Seq[Effect]) {
    private val runs = mutable.Map.empty[Values, Run]

    def names: Set[String] = make().params.map(_.name).toSet

    def run(values: (String, Any)*): Run = {
      runs.getOrElseUpdate(values.toMap, newRun(values: _*))
    }

    def newRun(values: (String, Any)*): Run = {
      val folder = temporary("effects")
      val estimator = make()
      val resolved = values.map[(String, Any)] {
        case (name, InFolder) => name -> folder.resolve("made").toString
        case (name, Saved) => name -> saved
        case (name, Begun) =>
          val path = folder.resolve("made").toString
          newRun((values.toMap ++ Map[String, Any]("epochs" -> 1, "resume" -> "auto", name -> path)).toSeq: _*).model
          name -> path
        case other => other
      }
      resolved.foreach {
        case (name, Unset) => estimator.clear(estimator.getParam(name))
        case (name, value) => estimator.set(estimator.getParam(name), value)
      }
      new Run(estimator, data, folder)
    }

    private lazy val saved: String = {
      val path = temporary("effects").resolve("saved").toString
      newRun("epochs" -> 2).model.save(path)
      path
    }

    def check(): Unit = {
      assert(effects.map(_.param).diff(effects.map(_.param).distinct).isEmpty)
      assert(effects.map(_.param).toSet == names)
      val (base, again) = (newRun(), newRun())
      val chance = effects.filter(effect => effect.look(base) != effect.look(again))
      assert(chance.map(_.param).isEmpty, "what is looked at differs between fits of the same values")
      val ignored = effects.filter { effect =>
        def seen(value: Any): Any = effect.look(run(effect.besides :+ effect.param -> value: _*))
        seen(effect.one) == seen(effect.other)
      }
      assert(ignored.map(_.param).isEmpty, "params without an effect")
      assertNothingIsAlive()
    }
  }

  private def line(activation: String, width: Int = 6): Network =
    Sequential("line")(Input(4), Dense(width, activation = activation), Dense(2))

  private def tiny(width: Int): Network =
    Sequential("tiny")(Input(4), Dense(width, activation = "relu"), Dense(3, activation = "softmax"))

  private def two(width: Int): Network = {
    val (numbers, place) = (Input(4, name = "features"), Input(2, name = "place"))
    val species = Dense(3, activation = "softmax", name = "species")(Dense(width, activation = "relu")(numbers))
    Model(Seq(numbers, place), Seq(species, Dense(1, name = "total")(place)), name = "two")
  }

  test("every param of a classifier has an effect") {
    new Subject(
      () => prepared(new NeuralNetClassifier().setNetwork(tiny(16))),
      training("accuracy", tiny(Many)) ++ oneInput ++ Seq(
        Effect("network", tiny(16).toJson, tiny(8).toJson, weights),
        Effect("labelCol", "label", "shifted", weights),
        Effect("labelVocabulary", Array("a", "b", "c"), Array("c", "b", "a"), weights, "labelCol" -> "word"),
        Effect("predictionCol", "prediction", "guess", added),
        Effect("probabilityCol", "probability", "", added),
        Effect("rawPredictionCol", "rawPrediction", "raw", added),
        Effect("thresholds", Array(0.0, 1.0, 1.0), Array(1.0, 0.0, 1.0), predicted),
        Effect("classWeights", Unset, """{"0": 5.0}""", weights),
        Effect("loss", "categorical_crossentropy", "mse", weights),
        Effect("metrics", Array("accuracy"), Array("mse"), metrics))).check()
  }

  test("every param of a regressor has an effect") {
    val one = Sequential("one")(Input(4), Dense(1)).toJson
    def regressor = new NeuralNetRegressor().setNetwork(line("relu")).setMetrics(Array("mae"))
    new Subject(
      () => prepared(regressor.setLabelCols(Array("total", "rest"))),
      training("mae", line("relu", Many)) ++ oneInput ++ Seq(
        Effect("network", line("relu").toJson, line("tanh").toJson, weights),
        Effect("labelCol", "label", "total", weights, "network" -> one, "labelCols" -> Unset),
        Effect("labelCols", Array("total", "rest"), Array("rest", "total"), weights),
        Effect("predictionCol", "prediction", "guess", added),
        Effect("loss", "mean_squared_error", "mae", weights),
        Effect("metrics", Array("mae"), Array("mse"), metrics))).check()
  }

  test("every param of an estimator of named columns has an effect") {
    val place = """{"place": ["a", "b"]}"""
    new Subject(
      () =>
        prepared(
          new NeuralNetEstimator()
            .setNetwork(two(16))
            .setInputCols(place)
            .setLabelCols("""{"species": "label", "total": "total"}""")
            .setLoss("""{"species": "categorical_crossentropy", "total": "mse"}""")),
      training("species_accuracy", two(Many)) ++ Seq(
        Effect("network", two(16).toJson, two(8).toJson, weights),
        Effect("inputCols", place, """{"place": ["b", "a"]}""", weights),
        Effect("nulls", "zero", "mean", weights, "inputCols" -> """{"place": ["holey", "b"]}"""),
        Effect("nans", "error", "pass", weights, "inputCols" -> """{"place": ["a", "b"], "features": "broken"}"""),
        Effect(
          "labelCols",
          """{"species": "label", "total": "total"}""",
          """{"species": "shifted", "total": "rest"}""",
          weights),
        Effect("outputCols", Unset, """{"total": "guess"}""", added),
        Effect("classWeights", Unset, """{"species": {"0": 5.0}}""", weights),
        Effect("lossWeights", Unset, """{"total": 3.0}""", weights),
        Effect(
          "loss",
          """{"species": "categorical_crossentropy", "total": "mse"}""",
          """{"species": "categorical_crossentropy", "total": "mae"}""",
          weights),
        Effect("metrics", Unset, """{"total": ["mae"]}""", metrics))).check()
  }

  private def prepared(estimator: NetworkEstimator[_]): NetworkEstimator[_] = {
    // Else what is free shows in what describe tells.
    estimator.setOptimizer("sgd").setLearningRate(0.05).setSeed(3).setVerbose(0).setDataMemory(64L << 20)
    estimator
  }

  private val oneInput: Seq[Effect] = Seq(
    Effect("featuresCol", "features", "other", weights),
    Effect("featuresCols", Array("a", "b", "c", "d"), Array("b", "a", "c", "d"), weights),
    Effect("nulls", "zero", "mean", weights, "featuresCols" -> Array("holey", "b", "c", "d")),
    Effect("nans", "error", "pass", weights, "featuresCol" -> "broken"))

  /** Of params that all estimators have; `metric` is one that is measured, `large` a network of many gradients. */
  private def training(metric: String, large: Network): Seq[Effect] = {
    val checkpoints = Seq("checkpointPath" -> InFolder, "keepCheckpoints" -> 100, "epochs" -> 3)
    val begun = Seq("checkpointPath" -> Begun, "epochs" -> 2)
    val neverBetter = Seq("earlyStoppingMinDelta" -> 100.0, "epochs" -> 4)
    val schedule =
      """{"kind": "sgd", "learningRate": {"kind": "cosine", "initialLearningRate": 0.1, "decayEpochs": 2}}"""
    Seq(
      Effect("weightCol", "", "w", weights),
      Effect("validationIndicatorCol", "", "held", _.history.map(_.validationLoss.isDefined)),
      Effect("validationFraction", 0.2, 0.5, _.history.map(_.samples)),
      Effect("optimizer", "sgd", "adam", weights),
      Effect("learningRate", 0.05, 0.01, _.history.map(_.learningRate)),
      Effect("momentum", Unset, 0.9, weights),
      Effect("clipNorm", Unset, 0.001, weights),
      Effect("clipValue", Unset, 0.0001, weights),
      Effect("emaMomentum", Unset, 0.5, weights),
      Effect("backwardPassesPerStep", 1, 2, weights, "batchSize" -> 10),
      // A few numbers travel as they are.
      Effect("gradientCompression", "none", "bf16", weights, "numWorkers" -> 2, "network" -> large.toJson),
      Effect("localSteps", 1, 2, weights, "numWorkers" -> 2, "batchSize" -> 10),
      Effect("batchSize", 32, 10, _.history.map(_.steps)),
      Effect("globalBatchSize", 20, 10, _.history.map(_.steps), "numWorkers" -> 2),
      Effect("epochs", 1, 2, _.history.length),
      Effect("stepsPerEpoch", 3, 30, _.history.map(_.learningRate), "optimizer" -> schedule, "learningRate" -> Unset),
      Effect("seed", 3L, 4L, weights),
      Effect("shuffle", true, false, weights, "batchSize" -> 10),
      Effect("shuffleBuffer", 2048, 1, weights, "batchSize" -> 10),
      Effect("dataMemory", 4L << 20, 8L << 20, _.described),
      Effect("numWorkers", 1, 2, _.model.summary.workerHistory.length),
      // What it does on a cluster: WorkerCpusTest.
      Effect("workerCpus", 1, 2, _.described),
      Effect("forceRepartition", false, true, _.described),
      // What they do when time is up: SlotsTest, ControlChannelTest, TrainerTest of the engine.
      Effect("slotTimeout", 120.0, 30.0, _.described),
      Effect("connectTimeout", 60.0, 30.0, _.described),
      Effect("stepTimeout", 60.0, 30.0, _.described),
      Effect("initialModel", "", Saved, weights),
      Effect("checkpointPath", "", InFolder, _.checkpoints > 0),
      Effect("checkpointInterval", 1, -1, _.checkpoints > 1, checkpoints: _*),
      Effect("checkpointSteps", 1L, 1000L, _.checkpoints > 1, checkpoints: _*),
      Effect("checkpointMinutes", 1e-9, 1000.0, _.checkpoints > 1, checkpoints: _*),
      Effect("keepCheckpoints", 1, 100, _.checkpoints > 1, "checkpointPath" -> InFolder, "epochs" -> 3),
      Effect("resume", "auto", "never", _.events.exists(_.contains("goes on")), begun: _*),
      // What it does when workers are lost: ExecutorLossTest.
      Effect("maxRestarts", 0, 2, _.described),
      Effect("earlyStoppingPatience", 1, 2, _.history.length, neverBetter: _*),
      Effect("earlyStoppingMinDelta", 0.0, 100.0, _.history.length, "earlyStoppingPatience" -> 1, "epochs" -> 4),
      Effect("monitor", "loss", metric, _.stops, neverBetter :+ "earlyStoppingPatience" -> 1: _*),
      Effect("restoreBestWeights", false, true, weights, neverBetter :+ "earlyStoppingPatience" -> 2: _*),
      Effect("verbose", 0, 1, _.printed.contains("epoch 1/1")),
      Effect("tensorboardDir", "", InFolder, _.files.exists(_.contains("tfevents"))),
      Effect("traceDir", "", InFolder, _.files.exists(_.endsWith(".json"))))
  }
}

object ParamEffectsTest {
  private val Many = 4096

  type Values = Map[String, Any]
  type Look = Run => Any

  /** Not set at all. */
  case object Unset

  /** A path in the folder of the fit, the path of a saved model, and one in which a shorter fit left checkpoints. */
  case object InFolder
  case object Saved
  case object Begun

  /** A param, its two values, where the difference is seen, and what else both fits have. */
  final case class Effect(param: String, one: Any, other: Any, look: Look, besides: (String, Any)*)

  /** The weights, or the sentence that says why there are none. */
  val weights: Look = _.weights
  val metrics: Look = _.history.map(_.metrics.keySet)

  /** The columns that the model adds, and what it predicts. */
  val added: Look = _.added
  val predicted: Look = _.predicted

  /** A fit with all that can be seen of it, made when it is first looked at. */
  final class Run(estimator: NetworkEstimator[_], data: DataFrame, folder: Path) {
    private val stderr = new ByteArrayOutputStream
    private lazy val outcome: Try[NetworkModel[_]] = {
      val before = System.err
      System.setErr(new PrintStream(stderr, true))
      try Try[NetworkModel[_]](estimator.fit(data).asInstanceOf[NetworkModel[_]])
      finally System.setErr(before)
    }

    lazy val described: String = estimator.describe(data)
    def model: NetworkModel[_] = outcome.get
    def printed: String = {
      model
      stderr.toString
    }

    def weights: Either[String, Seq[Byte]] = outcome match {
      case Success(model) => Right(model.weights.toSeq)
      case Failure(error: BloomeryException) => Left(error.getMessage)
      case Failure(error) => throw error
    }

    def history: Seq[EpochRecord] = model.summary.history
    def events: Seq[String] = model.summary.events.map(_.text)

    /** What was watched when training stopped. */
    def stops: Option[String] = history.last.stops.map(_.takeWhile(_ != ' '))
    lazy val added: Seq[String] = model.transform(data).columns.toSeq.drop(data.columns.length)
    lazy val predicted: Seq[Double] = model.transform(data).collect().toSeq.map(_.getAs[Double]("prediction"))

    def files: Seq[String] = {
      model
      Using.resource(Files.walk(folder))(_.iterator().asScala.map(_.toString).toList)
    }

    def checkpoints: Int = files.count(_.endsWith("manifest.json"))
  }
}
