"""Whether a second worker pays on a slow network: the time to a training loss, by one worker and by two behind links of
a given rate: scripts/bench network.

A standalone Master and two Workers, each in a network namespace of its own, train the captioning network on captions of
a seeded grammar, each worker with one thread. One worker trains three epochs; two workers, with the same rows in a step
of all together, train till an epoch's loss is as low. A fit is timed from its call to the end of that epoch.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from competitor import QUIET, busy_seconds, process_seconds
from driver_process import CONF
from namespace_cluster import NamespaceCluster, NoNamespaces
from pyspark.sql import DataFrame, SparkSession

import bloomery
from bloomery import NeuralNetEstimator, zoo

CAPTIONING = Path(__file__).resolve().parents[2] / "datasets" / "captioning.py"
EPOCHS = 3  # of the one worker
MOST_EPOCHS = 8  # of two
GLOBAL_BATCH = 512
TIMES_ONE = 1.0  # how much sooner two workers are there, at least
UNLIMITED = "10gbit"


@dataclass(frozen=True)
class Fit:
    """What one training took."""

    seconds: list[float]  # from the call of fit() to the end of each epoch
    losses: list[float]
    bytes_sent: list[int]  # by each worker
    exposed: list[float]  # seconds that each worker waited for the other
    others: float  # cores that other processes used meanwhile

    def seconds_to(self, loss: float) -> float:
        """Till the end of the first epoch with so low a loss; infinity where there is none."""
        reached = (end for end, reached in zip(self.seconds, self.losses, strict=True) if reached <= loss)
        return next(reached, float("inf"))


@dataclass
class Runner:
    """A way to train, and how it went, block by block."""

    name: str
    rate: str
    params: dict[str, Any]
    fits: list[Fit] = field(default_factory=list)

    def run(self, cluster: NamespaceCluster, data: DataFrame, epochs: int, until: float) -> None:
        """Trains so many epochs, or till one has this loss."""
        cluster.limit(self.rate)
        ends: list[float] = []

        def watch(epoch: dict[str, Any]) -> bool:
            ends.append(time.monotonic() - start)
            return epoch["loss"] <= until

        estimator = NeuralNetEstimator(
            network=zoo.captioning(),
            labelCols={"dense_2": "next"},
            optimizer="adam",
            globalBatchSize=GLOBAL_BATCH,
            epochs=epochs,
            callbacks=[watch],
            verbose=0,
            **self.params,
        )
        busy, own = busy_seconds(), process_seconds(os.getpid())
        start = time.monotonic()
        summary = estimator.fit(data).summary
        others = busy_seconds() - busy - (process_seconds(os.getpid()) - own)
        self.fits.append(
            Fit(
                ends,
                [epoch["loss"] for epoch in summary.history],
                [sum(epoch["bytesSent"] for epoch in worker) for worker in summary.workerHistory],
                [sum(epoch["exposedAllreduceSeconds"] for epoch in worker) for worker in summary.workerHistory],
                max(0.0, others / (time.monotonic() - start)),
            )
        )

    def times(self, loss: float) -> list[float]:
        return [fit.seconds_to(loss) for fit in self.fits]


def rows(options: argparse.Namespace) -> Path:
    folder = options.folder / f"captioning-{options.images}"
    command = [sys.executable, CAPTIONING, "--output", folder, "--images", options.images]
    subprocess.run([str(word) for word in command], check=True)
    return folder


@contextmanager
def spark_on(cluster: NamespaceCluster, folder: Path) -> Iterator[SparkSession]:
    """Executors of one core, as the Workers."""
    os.environ["SPARK_LOCAL_IP"] = cluster.host
    own = {
        "spark.local.dir": str(folder),
        "spark.driver.host": cluster.host,
        "spark.driver.bindAddress": cluster.host,
        "spark.executor.cores": "1",
        "spark.task.cpus": "1",
        "spark.cores.max": "2",
    }
    builder = SparkSession.builder.master(cluster.master).appName("bench network")
    for key, value in (CONF | own).items():
        builder = builder.config(key, value)
    spark = bloomery.configure(builder).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def cell_of(one: Runner, two: Runner) -> dict:
    target = one.fits[0].losses[-1]
    ours, alone = two.times(target), one.times(target)
    # Blocks of the two lie side by side, so that others who are busy disturb both.
    ratio = statistics.median(a / b for a, b in zip(alone, ours, strict=True))
    return {
        "cell": two.name,
        "loss": target,
        "goals": [
            {
                "what": f"{ratio:.2f}x one worker",
                "ratio": ratio,
                "target": f"{TIMES_ONE}x",
                "ofTarget": ratio / TIMES_ONE,
            }
        ],
        "disturbed": any(fit.others >= QUIET for fit in (*one.fits, *two.fits)),
        "results": {runner.name: result_of(runner, target) for runner in (one, two)},
    }


def result_of(runner: Runner, loss: float) -> dict:
    times = runner.times(loss)
    median = statistics.median(times)
    last = runner.fits[-1]
    return {
        "rate": runner.rate,
        "params": runner.params,
        "median": median,
        "spread": (max(times) - min(times)) / 2 / median if median < float("inf") else 0.0,
        "losses": last.losses,
        "bytesSent": last.bytes_sent,
        "exposedSeconds": [statistics.median(values) for values in zip(*(f.exposed for f in runner.fits), strict=True)],
        "seconds": [fit.seconds for fit in runner.fits],
        "others": [fit.others for fit in runner.fits],
    }


def show(cell: dict) -> str:
    note = "  other processes were busy" if cell["disturbed"] else ""
    (goal,) = cell["goals"]
    lines = [f"{cell['cell']}: {goal['what']} ({goal['ofTarget']:.2f} of target {goal['target']}){note}"]
    for name, result in cell["results"].items():
        losses = " ".join(f"{loss:.4f}" for loss in result["losses"])
        time_to_loss = f"{result['median']:8.1f} s ±{result['spread']:4.0%} to loss {cell['loss']:.4f}"
        lines.append(f"  {name:<32}{time_to_loss}, epochs: {losses}")
        if len(result["bytesSent"]) > 1:
            for rank, (sent, exposed) in enumerate(zip(result["bytesSent"], result["exposedSeconds"], strict=True)):
                lines.append(f"    rank {rank}: {sent / 1e6:.1f} MB sent, {exposed:.1f} s exposed")
    return "\n".join(lines)


def measure(options: argparse.Namespace, stack: ExitStack) -> list[dict]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bloomery-network-")))
    data = rows(options)
    cluster = NamespaceCluster(folder)
    stack.callback(cluster.close)
    spark = stack.enter_context(spark_on(cluster, folder))
    train, test = (spark.read.parquet(str(data / split)) for split in ("train", "test"))
    two = {"numWorkers": 2}
    one = Runner("one worker", UNLIMITED, {"numWorkers": 1})
    pairs = [
        Runner("two at 1 Gbit/s, fp16", "1gbit", {**two, "gradientCompression": "fp16"}),
        Runner("two at 100 Mbit/s, local steps", "100mbit", {**two, "localSteps": options.local_steps}),
    ]
    print(
        f"network: captioning, {train.count()} rows, steps of {GLOBAL_BATCH}, float32, one thread a worker, localSteps"
        f" {options.local_steps}, Spark {spark.version}, medians of {options.blocks} blocks",
        flush=True,
    )
    # Executors fetch the jar, load the engine and compile what they run.
    Runner("warm-up", UNLIMITED, two).run(cluster, test, 1, 0.0)
    for _ in range(options.blocks):
        one.run(cluster, train, EPOCHS, 0.0)
        for pair in pairs:
            pair.run(cluster, train, MOST_EPOCHS, one.fits[0].losses[-1])
    return [cell_of(one, pair) for pair in pairs]


def end(number: int, _: FrameType | None) -> None:
    """What was set up is taken down as after any other failure."""
    sys.exit(128 + number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4000, help="a fifth of them to warm up (default: 4000)")
    parser.add_argument("--local-steps", type=int, default=64, help="at 100 Mbit/s (default: 64)")
    parser.add_argument("--blocks", type=int, default=2, help="fits of each (default: 2)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)

    try:
        with ExitStack() as stack:
            cells = measure(options, stack)
    except NoNamespaces as reason:
        raise SystemExit(f"bench: network namespaces cannot be made here: {reason}") from None
    for cell in cells:
        print(show(cell))
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2) + "\n")
    worst = min(cells, key=lambda cell: cell["goals"][0]["ofTarget"])
    (goal,) = worst["goals"]
    print(f"worst: {goal['ofTarget']:.2f} of target ({worst['cell']}: {goal['what']}, target {goal['target']})")


if __name__ == "__main__":
    main()
