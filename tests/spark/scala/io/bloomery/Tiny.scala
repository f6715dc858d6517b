package io.bloomery

import io.bloomery.network._
import org.apache.spark.sql.{DataFrame, SparkSession}

/** A problem that a few hundred rows and a second of training solve: which of three numbers is largest? */
object Tiny {
  val network: Network =
    Sequential("tiny")(Input(4), Dense(16, activation = "relu"), Dense(3, activation = "softmax"))

  /** Columns id, features (array of four floats) and label (int); always the same rows. */
  def data(spark: SparkSession, rows: Long = 600, partitions: Int = 4): DataFrame =
    spark
      .range(0, rows, 1, partitions)
      .selectExpr("id", "transform(sequence(0, 3), i -> float((hash(id, i) % 1000) / 1000.0)) as features")
      .selectExpr(
        "id",
        "features",
        "int(array_position(slice(features, 1, 3), array_max(slice(features, 1, 3))) - 1) as label")

  /** Of `data`: id, features, and columns of other types, nulls among them. */
  val manyTypes: Seq[String] = Seq(
    "id",
    "if(id % 3 = 0, null, repeat('x', int(id % 50))) as text",
    "features",
    "if(id % 5 = 0, null, named_struct('a', id, 'b', array(id, null))) as nested",
    "id % 2 = 0 as even",
    "decimal(id) / 7 as decimal",
    "cast(null as binary) as nothing")

  def classifier: NeuralNetClassifier =
    new NeuralNetClassifier()
      .setNetwork(network)
      .setOptimizer("adam")
      .setLearningRate(0.02)
      .setMetrics(Array("accuracy"))
      .setBatchSize(20)
      .setEpochs(5)
      .setSeed(7)
      .setVerbose(0)

  /** The share of rows whose prediction is their label. */
  def accuracy(predicted: DataFrame): Double =
    predicted.filter("prediction = label").count().toDouble / predicted.count()
}
