"""How fast whole epochs of a fit are, and how much of them the compute thread waits for rows: from the second epoch on.
Answers lines "run SECONDS" as competitor.py says, with one fit each."""

import argparse
from pathlib import Path

from spark_session import answer, session

from bloomery import NeuralNetClassifier
from bloomery.network import Network

EPOCHS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--optimizer", required=True)
    parser.add_argument("--loss", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    spark = session(options.threads, **{"spark.task.cpus": str(options.threads)})
    data = spark.read.parquet(options.data)
    estimator = NeuralNetClassifier(
        network=Network.from_json(options.network.read_text()),
        featuresCol="features",
        optimizer=options.optimizer,
        loss=options.loss,
        batchSize=options.batch,
        epochs=EPOCHS,
        verbose=0,
    )

    def run(_: float) -> dict:
        epochs = estimator.fit(data).summary.history[1:]
        seconds = sum(epoch["seconds"] for epoch in epochs)
        return {
            "samplesPerSecond": sum(epoch["samples"] for epoch in epochs) / seconds,
            "waitShare": sum(epoch["waitSeconds"] for epoch in epochs) / seconds,
        }

    answer(spark, f"Spark {spark.version}, one worker of {options.threads} threads, epochs 2 to {EPOCHS}", run)


main()
