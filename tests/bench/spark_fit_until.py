"""A whole fit of ours that ends with the first epoch whose test accuracy and loss are as good as told, and the
transform of the test rows, Spark being up; rows as flat_rows.py makes them. Answers lines "run SECONDS ACCURACY LOSS"
as competitor.py says, with one of both each."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions as F
from spark_session import answer, session

from bloomery import NeuralNetClassifier, Sequential, layers

MAX_EPOCHS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sizes", type=json.loads, required=True, help="of the layers, from inputs to classes")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--workers", type=int, required=True)
    options = parser.parse_args()
    spark = session(options.workers)
    data = spark.read.parquet(options.data)
    inputs, *hidden, classes = options.sizes
    dense = [layers.Dense(units, "sigmoid") for units in hidden]
    network = Sequential(layers.Input(inputs), *dense, layers.Dense(classes, "softmax"))
    correct = F.avg((F.col("prediction") == F.col("label")).cast("double"))
    test_loss = F.avg(-F.log(F.get(vector_to_array("probability"), F.col("label"))))

    def run(_: float, accuracy: float, loss: float) -> dict:
        def is_there(epoch: dict[str, Any]) -> bool:
            validation = epoch["validation"]
            return bool(validation["metrics"]["accuracy"] >= accuracy and validation["loss"] <= loss)

        estimator = NeuralNetClassifier(
            network=network,
            validationIndicatorCol="isTest",
            optimizer="adam",
            learningRate=options.rate,
            batchSize=options.batch,
            epochs=MAX_EPOCHS,
            numWorkers=options.workers,
            callbacks=[is_there],
            seed=1,
            verbose=0,
        )
        begin = time.perf_counter()
        model = estimator.fit(data)
        fitted = time.perf_counter()
        reached = model.transform(data.where("isTest")).agg(correct, test_loss).first()
        end = time.perf_counter()
        history = model.summary.history
        training = sum(epoch["seconds"] for epoch in history)
        around = fitted - begin - training
        if not is_there(history[-1]):
            raise SystemExit(f"Not as good as told after {MAX_EPOCHS} epochs: {history[-1]['validation']}")
        phases = {"around epochs": around, "epochs": training, "transform": end - fitted}
        return {
            "samplesPerSecond": 1 / sum(phases.values()),
            "phases": phases,
            "accuracy": reached[0],
            "loss": reached[1],
            "epochs": len(history),
            "input": model.summary.input,
        }

    settings = (
        f"Spark {spark.version}, {options.workers} workers of one thread, layers {options.sizes}, adam with "
        f"{options.rate}, batches of {options.batch} each"
    )
    answer(spark, settings, run)


main()
