"""How fast rows of a Parquet folder reach our engine's row store through one path, on one worker. A fit whose shuffle
buffer holds all rows takes them all in before its first step, and tells how long that took. The path mixed is that of a
DataFrame with a filter, which here leaves all rows. Answers lines "run SECONDS" as competitor.py says."""

import argparse
import json
import time

from spark_session import answer, session

from bloomery import NeuralNetClassifier, Sequential, layers

BATCH = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
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
    data = spark.read.parquet(options.data)
    rows = data.count()
    if options.path == "mixed":
        data = data.where("label >= 0")
    estimator = NeuralNetClassifier(
        network=network,
        featuresCol="features",
        batchSize=BATCH,
        shuffleBuffer=rows,
        epochs=1,
        optimizer="sgd",
        verbose=0,
    )

    def run(seconds: float) -> dict:
        fits, loading = 0, 0.0
        start = time.perf_counter()
        while fits == 0 or time.perf_counter() - start < seconds:
            (epoch,) = estimator.fit(data).summary.history
            if epoch["rowsAtStart"] != rows:
                raise SystemExit(f"bench: the first step came before all rows: {epoch['rowsAtStart']} of {rows}")
            loading += epoch["readSeconds"] + epoch["convertSeconds"]
            fits += 1
        return {"samplesPerSecond": fits * rows / loading, "fits": fits}

    answer(spark, f"Spark {spark.version}, one worker, path {options.path}, {rows} rows", run)


main()
