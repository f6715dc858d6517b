package io.bloomery

import io.bloomery.network._
import io.bloomery.optim.{Adam, CosineDecay}
import org.apache.spark.bloomery.JobLog
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.scalatest.funsuite.AnyFunSuite

/** What `describe` tells of a fit, line by line, without running anything. */
class FitDescriptionTest extends AnyFunSuite with EngineSuite {
  override def master: String = "local[2]"

  /** By title; lines of one title belong together. */
  private def told(classifier: NeuralNetClassifier, data: DataFrame): Map[String, Seq[String]] = {
    val (text, counts) = JobLog.count(spark.sparkContext)(classifier.describe(data))
    assert(counts.jobs == 0, text)
    val lines = text.linesIterator.map(_.splitAt(12)).map { case (title, line) => title.trim -> line }.toSeq
    val titles = lines.map(_._1).scanLeft("")((last, title) => if (title.isEmpty) last else title).tail
    titles.zip(lines.map(_._2)).groupMap(_._1)(_._2)
  }

  private def classifier: NeuralNetClassifier = Tiny.classifier.setNumWorkers(2)

  private def cosine: NeuralNetClassifier =
    new NeuralNetClassifier()
      .setNetwork(Tiny.network)
      .setOptimizer(Adam(CosineDecay(0.01, decayEpochs = 3.0)))
      .setNumWorkers(2)
      .setVerbose(0)

  private lazy val parquet: DataFrame = {
    val folder = temporary("describe").resolve("data").toString
    Tiny.data(spark, partitions = 2).write.parquet(folder)
    spark.read.parquet(folder)
  }

  test("rows, workers, columns, memory and threads of a fit on any DataFrame") {
    val data = Tiny.data(spark, partitions = 5).selectExpr("*", "id % 3 = 0 as held", "double(id) as w")
    val lines = told(classifier.setValidationIndicatorCol("held").setWeightCol("w").setDataMemory(3L << 20), data)
    assert(lines("Training") == Seq("5 epochs on 2 workers, batches of 20 rows on each worker, 131 parameters"))
    assert(lines("Rows").head.startsWith("rows: the DataFrame is more than columns of Parquet files; Spark makes its"))
    assert(lines("Workers") == Seq("5 partitions: worker 0 gets 3, worker 1 gets 2 partitions"))
    assert(
      lines("Columns") == Seq(
        "input 'input' is (4) of float32",
        "features (array<float>): input 'input', values of the array, each kept as float32",
        "label (int): label, one of 3 classes",
        "w (double): weight of a row",
        "held (boolean): marks rows that are evaluated, not trained on"))
    assert(lines("First step") == Seq("while rows still come: the first epoch draws from a buffer of 2048 rows"))
    assert(lines("Memory").head.matches("[0-9.]+ MB of each worker for the network: parameters [0-9.]+, gradients .*"))
    assert(lines("Memory")(1) == "and for rows up to 3.0 MB, then local directories (dataMemory)")
    assert(lines("Memory")(2).matches("batches of up to [1-9][0-9]{3,} rows on each worker would fit beside the .*"))
    assert(lines("Threads").head.startsWith("1 of each worker compute (spark.task.cpus)"))
    assert(
      lines("Waits") == Seq(
        "up to 120.0 s for task slots (slotTimeout), 60.0 s for workers to start (connectTimeout); one that is silent" +
          " for 60.0 s counts as lost (stepTimeout)"))
    assert(
      lines("Lost") == Seq("Spark's attempts at a stage begin anew, since nothing is saved (checkpointPath)"))
    assert(lines("Repeated").head.startsWith("the same seed gives the same bits as long as the source"))
  }

  test("where a fit that lost a worker would begin again") {
    val folder = temporary("describe").resolve("checkpoints").toString
    val lines = told(classifier.setCheckpointPath(folder).setMaxRestarts(2), Tiny.data(spark))
    assert(
      lines("Lost") == Seq(
        s"Spark's attempts at a stage begin from the newest checkpoint in $folder, of which 2 stay, in up to 3 jobs" +
          " (maxRestarts)"))
  }

  test("rows behind a shuffle are not promised to come the same again") {
    val lines = told(classifier, Tiny.data(spark).repartition(3, col("id")))
    assert(lines("Repeated").head.startsWith("not promised: the rows come out of a shuffle"))
    assert(lines("Workers").head.startsWith("partitions are known when the stages before have run (3 are planned)"))
    val cached = Tiny.data(spark).repartition(3, col("id")).persist()
    try assert(told(classifier, cached)("Repeated").head.startsWith("not promised"))
    finally cached.unpersist()
    val rows = spark.createDataFrame(Tiny.data(spark).rdd.repartition(3), Tiny.data(spark).schema)
    assert(told(classifier, rows)("Repeated").head.startsWith("not promised"))
  }

  test("by what rows for validation are chosen") {
    val share = classifier.setValidationFraction(0.2)
    assert(!told(classifier, parquet).contains("Validation"))
    def chosen(data: DataFrame): String = told(share, data)("Validation").head
    val told20 = "0.2 of the rows are evaluated, not trained on; a row is chosen by the seed and "
    assert(chosen(parquet) == told20 + "its file and its place in it")
    assert(chosen(Tiny.data(spark)) == told20 + "its partition and its place in it")
    assert(chosen(Tiny.data(spark).repartition(3, col("id"))).startsWith(told20 + "what it holds"))
    assert(chosen(spark.createDataFrame(Tiny.data(spark).rdd.repartition(3), Tiny.data(spark).schema))
      .startsWith(told20 + "what it holds"))
  }

  test("what loads first says why, and footers of Parquet files let schedules stream") {
    val learnt = classifier
      .setNetwork(Sequential("words")(Input(2), Normalization(), Dense(3, activation = "softmax")))
      .setFeaturesCols(Array("id", """{"column": "word", "vocabulary": "learn"}"""))
    val words = told(learnt, Tiny.data(spark).selectExpr("id", "string(id % 7) as word", "label"))
    assert(words("First step").head.startsWith("after all rows are loaded: means for nulls and learnt vocabularies"))
    assert(
      words("Columns").contains("word (string): input 'input', index by a vocabulary that is learnt from all rows"))
    assert(told(cosine, Tiny.data(spark))("First step").head.contains("schedule counts epochs"))
    assert(told(cosine.setStepsPerEpoch(10), Tiny.data(spark))("First step").head.startsWith("while rows still come"))
    val files = told(cosine, parquet)
    assert(files("First step").head.startsWith("while rows still come"))
    assert(files("Rows") == Seq("parquet: 600 rows in 2 row groups of 2 files"))
    assert(files("Workers") == Seq("worker 0 gets 300, worker 1 gets 300 rows"))
    assert(
      files("Repeated") == Seq("the same seed gives the same bits; a row is known by its file and its place in it"))
    assert(told(cosine.setValidationFraction(0.1), parquet)("First step").head.contains("schedule counts epochs"))
  }

  test("a schedule that streams by its footers has the rates of one that loads first") {
    val rates = Seq(parquet, parquet.select("*").where("id >= 0"))
      .map(cosine.setEpochs(2).setBatchSize(50).fit(_).summary.history.last.learningRate)
    assert(rates.distinct.size == 1)
  }

  test("rows that footers tell let a schedule's training begin while they come, as describe says") {
    def weights(buffer: Int): Seq[Byte] =
      cosine.setEpochs(1).setBatchSize(10).setNumWorkers(1).setShuffleBuffer(buffer).fit(parquet).weights.toSeq
    // The buffer counts only where the first epoch does not wait for all rows.
    assert(weights(1) != weights(2000))
  }

  test("workers that get no rows are told of") {
    val lines = told(classifier, Tiny.data(spark, partitions = 1))
    assert(lines("Workers").head.contains("1 of 2 workers get none, set forceRepartition or repartition the data"))
  }
}
