import io.bloomery.{NeuralNetClassifier, Zoo}
import org.apache.spark.ml.evaluation.MulticlassClassificationEvaluator
import org.apache.spark.sql.SparkSession

/**
 * A spark-submit job: trains mnist-cnn on Parquet files and saves the model.
 *
 * {{{
 * scripts/package && mvn -f examples/scala/pom.xml package
 * spark-submit --master yarn --num-executors 2 --conf spark.dynamicAllocation.enabled=false --jars <Bloomery's jar> \
 *   --class MnistSubmit examples/scala/target/mnist-submit-1.0.jar hdfs:///data/mnist hdfs:///models/mnist
 * }}}
 */
object MnistSubmit {

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 2, "Usage: MnistSubmit DATA MODEL [WORKERS] [EPOCHS]")
    val Array(data, path) = arguments.take(2)
    val workers = arguments.lift(2).fold(2)(_.toInt)
    val epochs = arguments.lift(3).fold(2)(_.toInt)

    val spark = SparkSession.builder().appName("mnist").getOrCreate()
    val classifier = new NeuralNetClassifier()
      .setNetwork(Zoo.mnistCnn)
      .setFeaturesCol("image")
      .setLabelCol("label")
      .setOptimizer("adadelta")
      .setGlobalBatchSize(96)
      .setEpochs(epochs)
      .setNumWorkers(workers)
    println(classifier.describe(spark.read.parquet(s"$data/train")))
    val model = classifier.fit(spark.read.parquet(s"$data/train"))
    model.write.overwrite().save(path)

    val predictions = model.transform(spark.read.parquet(s"$data/test"))
    val accuracy = new MulticlassClassificationEvaluator().setMetricName("accuracy").evaluate(predictions)
    println(f"test accuracy: $accuracy%.4f")
    spark.stop()
  }
}
