"""A fit whose driver is a process of its own: `python fit_program.py SETTINGS.json`.

Settings: master, conf, params of the classifier, shuffled (rows come through a shuffle), and result, the file that it
leaves: a hash of the weights, losses, events and what is alive afterwards, or the error.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import bloomery
from bloomery import NeuralNetClassifier, Sequential
from bloomery import layers as L

ROWS = 40000


def rows(spark: SparkSession, shuffled: bool) -> DataFrame:
    """Which of three numbers is the largest? The same rows in the same order every time, shuffled or not."""
    plain = spark.range(0, ROWS, 1, 4).selectExpr(
        "id", "transform(sequence(0, 3), i -> float((hash(id, i) % 1000) / 1000.0)) AS features"
    )
    labelled = plain.selectExpr(
        "id", "features", "int(array_position(slice(features, 1, 3), array_max(slice(features, 1, 3))) - 1) AS label"
    )
    return labelled.repartition(4, "id").sortWithinPartitions("id") if shuffled else labelled


def classifier(**params: Any) -> NeuralNetClassifier:
    """A training of seconds: many steps, and five epochs to be disturbed in."""
    network = Sequential(L.Input(4), L.Dense(64, activation="relu"), L.Dense(3, activation="softmax"))
    settings = {"optimizer": "adam", "batchSize": 2, "epochs": 5, "numWorkers": 2, "seed": 7, "verbose": 1}
    return NeuralNetClassifier(network=network, **(settings | params))


def outcome(model: Any) -> dict[str, Any]:
    """What two trainings must agree in, to the last bit."""
    digest = hashlib.sha256()
    for name, values in sorted(model.weights().items()):
        digest.update(name.encode() + values.tobytes())
    return {"weights": digest.hexdigest(), "losses": [epoch["loss"] for epoch in model.summary.history]}


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    builder = SparkSession.builder.master(settings["master"])
    for key, value in settings["conf"].items():
        builder = builder.config(key, value)
    spark = bloomery.configure(builder).getOrCreate()
    print(f"application {spark.sparkContext.applicationId}", file=sys.stderr, flush=True)
    try:
        model = classifier(**settings["params"]).fit(rows(spark, settings["shuffled"]))
        result = {**outcome(model), "events": [event["text"] for event in model.summary.events]}
    except bloomery.BloomeryError as error:
        result = {"kind": type(error).__name__, "error": str(error)}
    answers = spark.range(0, 8, 1, 8).selectExpr("java_method('io.bloomery.Diagnostics', 'liveResources') AS alive")
    alive = [json.loads(row.alive) for row in answers.collect()]
    result["alive"] = [answer for answer in alive if any(answer.values())]
    Path(settings["result"]).write_text(json.dumps(result))
    spark.stop()


if __name__ == "__main__":
    main()
