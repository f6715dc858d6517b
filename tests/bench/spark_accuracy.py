"""Trains mnist-cnn for two epochs on two workers and prints its accuracy on the test rows as a line of JSON."""

import argparse
import json

from pyspark.sql import functions as F
from spark_session import session

from bloomery import NeuralNetClassifier, zoo

WORKERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    options = parser.parse_args()
    spark = session(WORKERS)
    estimator = NeuralNetClassifier(
        network=zoo.mnist_cnn(),
        featuresCol="image",
        optimizer="adadelta",
        batchSize=96,
        epochs=2,
        numWorkers=WORKERS,
        verbose=0,
    )
    model = estimator.fit(spark.read.parquet(options.train))
    predicted = model.transform(spark.read.parquet(options.test))
    correct = F.avg((F.col("prediction") == F.col("label")).cast("double"))
    print(json.dumps({"accuracy": predicted.agg(correct).first()[0]}))


main()
