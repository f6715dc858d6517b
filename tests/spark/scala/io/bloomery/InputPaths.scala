package io.bloomery

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.Path

import io.bloomery.network._
import org.apache.spark.sql.DataFrame
import org.scalatest.Suite
import org.scalatest.time.SpanSugar._

/** Fits whose rows come by a chosen way, and how far apart they end. */
trait InputPaths extends EngineSuite { this: Suite =>
  override def master: String = "local[2]"

  val PathKey = "spark.bloomery.input.path"

  /** What dropout leaves out depends on the rows' ids, so that weights tell of these, too. */
  def classifierOf(input: Input, before: Layer*): NeuralNetClassifier = {
    val layers =
      Seq[Layer](input) ++ before ++ Seq(Dense(16, activation = "relu"), Dropout(0.5), Dense(3, activation = "softmax"))
    Tiny.classifier
      .setNetwork(Sequential("dropout")(layers: _*))
      .setEpochs(2)
      .setBatchSize(1000)
      .setShuffle(false)
  }

  /** Rows of fits take this way meanwhile. */
  def taking[T](path: String)(body: => T): T =
    try {
      spark.conf.set(PathKey, path)
      body
    } finally spark.conf.unset(PathKey)

  def fit(data: DataFrame, path: String, of: NeuralNetClassifier): NeuralNetClassificationModel =
    taking(path)(failAfter(60.seconds)(of.fit(data)))

  def weights(model: NeuralNetClassificationModel): Seq[Float] = {
    val bytes = ByteBuffer.wrap(model.weights).order(ByteOrder.LITTLE_ENDIAN)
    bytes.position(8 + bytes.getLong(0).toInt)
    val floats = bytes.slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()
    Seq.fill(floats.remaining())(floats.get())
  }

  def distance(a: NeuralNetClassificationModel, b: NeuralNetClassificationModel): Double =
    weights(a).zip(weights(b)).map { case (x, y) => math.abs(x - y).toDouble }.max

  /** As many files as the data has partitions, or more by folder, of several row groups each. */
  def write(data: DataFrame, partitionBy: String*): Path = {
    val folder = temporary("fit").resolve("data")
    data.write
      .partitionBy(partitionBy: _*)
      .option("parquet.block.size", "2000")
      .option("parquet.page.size.row.check.min", "20")
      .option("parquet.page.size.row.check.max", "20")
      .parquet(folder.toString)
    folder
  }

  def read(folder: Path): DataFrame = spark.read.parquet(folder.toString)
}
