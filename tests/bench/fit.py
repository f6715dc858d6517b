"""Wall time of a whole fit and transform, ours against Spark's TorchDistributor and MLlib: scripts/bench fit.

Spark is up and warm for everybody: the start of its session is not counted. Against TorchDistributor the network,
optimizer, batches, epochs and workers are the same; MLlib trains the network that it can express for 100 iterations,
ours trains that one till the test accuracy is as good.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import report
from competitor import Competitor, alternate, with_spark
from flat_rows import flat_rows
from shuffled_rows import shuffled_rows

HERE = Path(__file__).parent
WORKERS = 2
EPOCHS = 2
TIMES_DISTRIBUTOR, TIMES_MLLIB = 1.5, 3.0
RIVALS = ["torch", "mllib"]
WARM_UP, TIMED = 0, 1  # the programs' "run SECONDS"


@dataclass(frozen=True)
class Data:
    """A data set under build/data, and what is trained on it."""

    batch: int  # of a worker
    is_sorted: bool  # by time; such rows are shuffled before anybody reads them
    mllib_sizes: tuple[int, ...]  # of the layers, from inputs to classes
    mllib_batch: int  # of a worker of ours, on MLlib's network
    mllib_rate: float
    mllib_rows: int | None = None  # that MLlib can do 100 iterations with in some minutes, None: all
    has_loss: bool = False  # whether loss has to be as good as MLlib's, too


DATA = {
    "mnist": Data(96, False, (784, 100, 10), 128, 0.005),
    # Hardly more flights are predicted rightly than are on time: accuracy alone would be reached too easily.
    "flights": Data(1024, True, (8, 64, 32, 2), 512, 0.02, 200_000, has_loss=True),
}


class Fitter(Competitor):
    """Keeps all that was said of every timed fit."""

    def measure(self, seconds: float) -> None:
        super().measure(seconds)
        self.fits = [*getattr(self, "fits", []), self.last]

    def phases(self) -> dict[str, float]:
        return {name: statistics.median(fit["phases"][name] for fit in self.fits) for name in self.last["phases"]}


class Follower(Fitter):
    """Is told how good the one before it was, and trains till it is as good."""

    ahead: Competitor
    has_loss: bool

    def ask(self, line: str) -> dict:
        loss = self.ahead.last["loss"] if self.has_loss else float("inf")
        return super().ask(f"{line} {self.ahead.last['accuracy']} {loss}")


def cell_of(name: str, ours: Fitter, rivals: list[tuple[Fitter, float]]) -> dict:
    cell = report.cell(name, ours, [report.Goal(rival, factor) for rival, factor in rivals], [], 0)
    for runner in (ours, *(rival for rival, _ in rivals)):
        keys = ("accuracy", "loss", "epochs", "input")
        cell["results"][runner.name] |= {
            "seconds": 1 / runner.median(),
            "phases": runner.phases(),
            **{key: runner.last[key] for key in keys if key in runner.last},
        }
    return cell


def against_distributor(options: argparse.Namespace, name: str) -> dict:
    data, folder = DATA[name], options.folder.parent / name
    train = folder / "train"
    if data.is_sorted:
        train = shuffled_rows(train, options.folder / f"{name}-shuffled")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as words, ExitStack() as stack:
        airports = pq.read_table(train, columns=["origin"])["origin"] if name == "flights" else None
        json.dump([] if airports is None else sorted(airports.unique().to_pylist()), words)
        words.flush()
        arguments = ["--name", name, "--train", str(train), "--test", str(folder / "test")]
        arguments += ["--words", words.name, "--batch", str(data.batch), "--epochs", str(options.epochs)]
        arguments += ["--workers", str(WORKERS)]
        ours = Fitter("bloomery", [sys.executable, str(HERE / "spark_fit.py"), *arguments])
        peer = [options.peer_python, str(HERE / "peers" / "torch_distributor_fit.py"), *arguments]
        distributor = Fitter("TorchDistributor", peer, with_spark(options.spark_home))
        runners = [ours] if options.no_peers else [ours, distributor]
        for runner in runners:
            stack.enter_context(runner)
        alternate(runners, options.blocks, TIMED, WARM_UP)
        rivals = [] if options.no_peers else [(distributor, TIMES_DISTRIBUTOR)]
        return cell_of(f"{name}, {options.epochs} epochs", ours, rivals)


def against_mllib(options: argparse.Namespace, name: str) -> dict:
    data = DATA[name]
    rows = flat_rows(options.folder.parent, options.folder, name, options.rows or data.mllib_rows)
    arguments = ["--data", str(rows), "--sizes", json.dumps(data.mllib_sizes), "--workers", str(WORKERS)]
    command = [sys.executable, str(HERE / "spark_fit_until.py"), *arguments]
    ours = Follower("bloomery MLP", [*command, "--batch", str(data.mllib_batch), "--rate", str(data.mllib_rate)])
    mllib = Fitter("MLlib", [sys.executable, str(HERE / "peers" / "mllib_fit.py"), *arguments])
    ours.ahead, ours.has_loss = mllib, data.has_loss
    with ExitStack() as stack:
        for runner in (mllib, ours):
            stack.enter_context(runner)
        alternate([mllib, ours], options.blocks, TIMED, WARM_UP)
    quality = "accuracy and loss" if data.has_loss else "accuracy"
    title = f"{name} to MLlib's test {quality}, layers {'-'.join(map(str, data.mllib_sizes))}, {rows.name}"
    return cell_of(title, ours, [(mllib, TIMES_MLLIB)])


def lines(cell: dict) -> str:
    note = "  other processes were busy" if cell["disturbed"] else ""
    reached = [
        f"{goal['ratio']:.2f}x {goal['of']} ({goal['ofTarget']:.2f} of target {goal['target']}x)"
        for goal in cell["goals"]
    ]
    text = [f"{cell['cell']}: {', '.join(reached)}{note}"]
    for name, result in cell["results"].items():
        parts = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in result["phases"].items())
        text.append(f"  {name:<17}{result['seconds']:8.2f} s ±{result['spread']:4.0%}  {parts}")
        loss = f", loss {result['loss']:.4f}" if "loss" in result else ""
        unit = "iterations" if name == "MLlib" else "epochs"
        text.append(f"  {'':<17}test accuracy {result['accuracy']:.4f}{loss} after {result['epochs']} {unit}")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=sorted(DATA), help="only this data set (default: both)")
    parser.add_argument("--rival", choices=RIVALS, help="only against this one (default: both)")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"against TorchDistributor (default: {EPOCHS})")
    parser.add_argument("--rows", type=int, help="to train on against MLlib (default: all of MNIST, 200000 flights)")
    parser.add_argument("--blocks", type=int, default=3, help="timed fits of each (default: 3)")
    parser.add_argument("--no-peers", action="store_true", help="ours alone, as against TorchDistributor")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--spark-home", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()

    print(f"fit: whole fits with {WORKERS} workers of one thread, Spark being up, medians of {options.blocks}")
    measured = {"torch": against_distributor, "mllib": against_mllib}
    if options.no_peers:
        del measured["mllib"]  # it says how good ours has to be
    cells = []
    for name in [options.data] if options.data else DATA:
        for rival, measure in measured.items():
            if options.rival in (None, rival):
                cells.append(measure(options, name))
                print(lines(cells[-1]), flush=True)
    report.finish(cells, options.json)


if __name__ == "__main__":
    main()
