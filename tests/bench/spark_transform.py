"""Our transform of a Parquet folder as a Spark job. Answers lines "run SECONDS" as competitor.py says."""

import argparse
import time
from pathlib import Path

from spark_session import answer, session

from bloomery import NeuralNetClassifier, Sequential


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--features", required=True)
    parser.add_argument("--cores", type=int, required=True)
    options = parser.parse_args()
    spark = session(options.cores)
    data = spark.read.parquet(options.data)
    rows = data.count()
    network = Sequential.from_json(options.network.read_text())
    estimator = NeuralNetClassifier(network=network, featuresCol=options.features, batchSize=64, verbose=0)
    model = estimator.fit(data.limit(64).cache())

    def run(seconds: float) -> dict:
        passes, start = 0, time.perf_counter()
        while passes == 0 or time.perf_counter() - start < seconds:
            predicted = model.transform(data).select("prediction", "probability")
            predicted.write.format("noop").mode("overwrite").save()
            passes += 1
        return {"samplesPerSecond": passes * rows / (time.perf_counter() - start)}

    answer(spark, f"Spark {spark.version}, local[{options.cores}], {rows} rows of Parquet", run)


main()
