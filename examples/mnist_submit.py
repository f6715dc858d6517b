"""A spark-submit job: trains mnist-cnn on Parquet files and saves the model.

spark-submit --master yarn --num-executors 2 --conf spark.dynamicAllocation.enabled=false --jars <the jar> \
    examples/mnist_submit.py --data hdfs:///data/mnist --model hdfs:///models/mnist
"""

import argparse

from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.sql import SparkSession

from bloomery import NeuralNetClassifier, zoo

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", required=True, help="folder with the Parquet folders train and test")
parser.add_argument("--model", required=True, help="folder that the model is saved to")
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--epochs", type=int, default=2)
options = parser.parse_args()

spark = SparkSession.builder.appName("mnist").getOrCreate()
classifier = NeuralNetClassifier(
    network=zoo.mnist_cnn(),
    featuresCol="image",
    labelCol="label",
    optimizer="adadelta",
    globalBatchSize=96,
    epochs=options.epochs,
    numWorkers=options.workers,
)
model = classifier.fit(spark.read.parquet(f"{options.data}/train"))
model.write().overwrite().save(options.model)

predictions = model.transform(spark.read.parquet(f"{options.data}/test"))
accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(predictions)
print(f"test accuracy: {accuracy:.4f}")
spark.stop()
