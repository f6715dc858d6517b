"""How fast rows of a Parquet folder reach our engine through one path: fits of a network that costs next to nothing, on
one worker. What a fit costs without rows is taken off; what the network costs is not. Answers lines "run SECONDS" as
competitor.py says."""

import argparse
import json
import math
import time

from spark_session import answer, session

from bloomery import NeuralNetClassifier, Sequential, layers

BATCH = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--few", required=True, help="the same with few rows")
    parser.add_argument("--shape", type=json.loads, required=True)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--path", required=True)
    options = parser.parse_args()
    settings = {"spark.bloomery.input.path": options.path, "spark.default.parallelism": "1"}
    spark = session(1, **settings)
    scale = 1 / 255 if options.dtype == "uint8" else 1
    network = Sequential(
        layers.Input(*options.shape, dtype=options.dtype, scale=scale),
        *([layers.Flatten()] if len(options.shape) > 1 else []),
        layers.Dense(2, activation="softmax"),
    )
    estimator = NeuralNetClassifier(
        network=network, featuresCol="features", batchSize=BATCH, epochs=1, shuffle=False, optimizer="sgd", verbose=0
    )
    data, few = spark.read.parquet(options.data), spark.read.parquet(options.few)
    rows, few_rows = data.count(), few.count()

    def seconds_of(frame) -> float:
        start = time.perf_counter()
        estimator.fit(frame)
        return time.perf_counter() - start

    def run(seconds: float) -> dict:
        fits, total, least = 0, 0.0, math.inf
        start = time.perf_counter()
        while fits == 0 or time.perf_counter() - start < seconds:
            least = min(least, seconds_of(few))
            total += seconds_of(data)
            fits += 1
        return {
            "samplesPerSecond": fits * (rows - few_rows) / max(total - fits * least, 1e-9),
            "fitSeconds": total / fits,
        }

    answer(spark, f"Spark {spark.version}, one worker, path {options.path}, {rows} rows, batches of {BATCH}", run)


main()
