"""A whole fit of ours and the transform of the test rows, Spark being up. Answers lines "run SECONDS" as competitor.py
says, with one of both each; 0 seconds: fits the test rows, to warm up."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from spark_session import answer, session

from bloomery import Model, NeuralNetClassifier, NeuralNetEstimator, layers, zoo
from bloomery.network_estimator import NetworkEstimator


def mnist(_: list[str], **params: Any) -> tuple[NetworkEstimator, Column]:
    """The estimator, and whether the prediction for a row is right."""
    estimator = NeuralNetClassifier(network=zoo.mnist_cnn(), featuresCol="image", optimizer="adadelta", **params)
    return estimator, F.col("prediction") == F.col("label")


def flights(words: list[str], **params: Any) -> tuple[NetworkEstimator, Column]:
    """The network of examples/flights.ipynb."""
    numbers = layers.Input(8, name="numbers")
    places = [layers.Input(1, dtype="int32", name=place) for place in ("origin", "destination")]
    airport = layers.Embedding(len(words) + 1, 8, name="airport")
    hidden = layers.Concatenate()([numbers, *(layers.Flatten()(airport(place)) for place in places)])
    for units in (64, 32):
        hidden = layers.Dense(units, "relu")(hidden)
    late = layers.Dense(1, "sigmoid", name="late")(hidden)
    rules = {
        place: {"column": place, "vocabulary": words, "outOfVocabulary": "last"} for place in ("origin", "destination")
    }
    estimator = NeuralNetEstimator(
        network=Model([numbers, *places], [late], name="flights"),
        inputCols={"numbers": "features", **rules},
        labelCols={"late": "late"},
        optimizer="adam",
        learningRate=0.002,
        **params,
    )
    return estimator, (F.col("prediction_late") > 0.5) == (F.col("late") == 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", choices=("mnist", "flights"), required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--words", type=Path, required=True, help="a list of the airports")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    options = parser.parse_args()
    spark = session(options.workers)
    make = mnist if options.name == "mnist" else flights
    estimator, is_right = make(
        json.loads(options.words.read_text()),
        batchSize=options.batch,
        epochs=options.epochs,
        numWorkers=options.workers,
        seed=1,
        verbose=0,
    )

    def run(seconds: float) -> dict:
        train, test = spark.read.parquet(options.train), spark.read.parquet(options.test)
        begin = time.perf_counter()
        model = estimator.fit(train if seconds else test)
        fitted = time.perf_counter()
        accuracy = model.transform(test).agg(F.avg(is_right.cast("double"))).first()[0]
        end = time.perf_counter()
        epochs = {f"epoch {epoch['epoch']}": epoch["seconds"] for epoch in model.summary.history}
        # Spark's stage, the workers that meet, and the model on its way back.
        around = fitted - begin - sum(epochs.values())
        phases = {"around epochs": around, **epochs, "transform": end - fitted}
        return {
            "samplesPerSecond": 1 / sum(phases.values()),
            "phases": phases,
            "accuracy": accuracy,
            "epochs": options.epochs,
            "input": model.summary.input,
        }

    settings = f"Spark {spark.version}, {options.workers} workers of one thread, batches of {options.batch} each"
    answer(spark, settings, run)


main()
