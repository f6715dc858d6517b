"""How long our fit takes to its first training step, Spark being up. Answers lines "run SECONDS" as competitor.py says,
with one fit each; a start is the sample, so that more of them a second are better."""

import argparse
import json
import time
from pathlib import Path

from spark_session import answer, session

from bloomery import NeuralNetClassifier
from bloomery.network import Network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--features", required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    options = parser.parse_args()
    spark = session(options.workers)
    data = spark.read.parquet(options.data)
    estimator = NeuralNetClassifier(
        network=Network.from_json(options.network.read_text()),
        featuresCol=options.features,
        labelCol=options.label,
        batchSize=options.batch,
        numWorkers=options.workers,
        optimizer="adam",
        verbose=0,
    )

    def run(_: float) -> dict:
        begin = time.perf_counter()
        summary = estimator.fit(data).summary
        total = time.perf_counter() - begin
        events = json.loads(summary.trace)["traceEvents"]
        spans = [event for event in events if event["pid"] == 0 and event["ph"] == "X"]  # others are names
        first = min((span for span in spans if span["name"] == "forward"), key=lambda span: span["ts"])
        end = max(span["ts"] + span["dur"] for span in spans) / 1e6  # all since the job was made
        # What comes after the last step is counted as if it came before the first.
        begin_of_worker = min(span["ts"] for span in spans) / 1e6
        phases = {
            "spark": total - end,
            "workers": begin_of_worker,
            "rows": first["ts"] / 1e6 - begin_of_worker,
            "step": first["dur"] / 1e6,
        }
        read = sum(epochs[0]["rowsAtStart"] for epochs in summary.workerHistory) / summary.history[0]["samples"]
        return {"samplesPerSecond": 1 / sum(phases.values()), "phases": phases, "readShare": read}

    answer(spark, f"Spark {spark.version}, {options.workers} workers, batches of {options.batch}", run)


main()
