"""Trains mnist-cnn on the MNIST digits through Spark, evaluates it, and leaves history, curves and the model.

`scripts/quickstart` runs this with everything set up; alone it needs the package bloomery and the Parquet files that
`datasets/mnist` makes.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

import bloomery
from bloomery import NeuralNetClassifier, zoo

HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="quickstart", description=__doc__.splitlines()[0])
    parser.add_argument("--master", default="local[2]", help="Spark's master (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="training tasks (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=2, help="passes over the data (default: %(default)s)")
    parser.add_argument("--global-batch-size", type=int, default=96, help="rows a step (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=42, help="of everything random (default: %(default)s)")
    parser.add_argument("--data", type=Path, required=True, help="folder with the Parquet folders train and test")
    parser.add_argument("--output", type=Path, required=True, help="folder for what is left behind")
    return parser.parse_args()


def session(master: str) -> SparkSession:
    quiet = f"-Dlog4j2.configurationFile=file:{HERE / 'log4j2.properties'}"
    builder = (
        SparkSession.builder.appName("bloomery-mnist")
        .master(master)
        .config("spark.driver.extraJavaOptions", quiet)
        .config("spark.executor.extraJavaOptions", quiet)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    return bloomery.configure(builder).getOrCreate()


def accuracy(predictions: DataFrame) -> float:
    return MulticlassClassificationEvaluator(labelCol="label", metricName="accuracy").evaluate(predictions)


def main() -> None:
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    spark = session(options.master)
    train = spark.read.parquet(str(options.data / "train"))
    test = spark.read.parquet(str(options.data / "test"))

    network = zoo.mnist_cnn()
    network.summary()
    classifier = NeuralNetClassifier(
        network=network,
        featuresCol="image",
        labelCol="label",
        validationIndicatorCol="isTest",
        optimizer="adadelta",
        metrics=["accuracy"],
        globalBatchSize=options.global_batch_size,
        epochs=options.epochs,
        numWorkers=options.workers,
        seed=options.seed,
    )
    started = time.monotonic()
    model = classifier.fit(train.withColumn("isTest", lit(False)).union(test.withColumn("isTest", lit(True))))
    fitted = time.monotonic()
    reached = accuracy(model.transform(test))
    evaluated = time.monotonic()

    (options.output / "history.json").write_text(json.dumps(model.summary.history, indent=2) + "\n")
    (options.output / "trace.json").write_text(model.summary.trace)
    model.summary.plot(str(options.output / "learning-curves.png"))
    model.write().overwrite().save(str(options.output / "model"))

    print(f"training: {fitted - started:.1f} s, evaluation of {test.count()} images: {evaluated - fitted:.1f} s")
    print(f"test accuracy: {reached:.4f}")
    print(f"history, learning curves, trace and model: {options.output}")
    spark.stop()


if __name__ == "__main__":
    main()
