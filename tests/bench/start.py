"""From fit() to the first training step, ours against PyTorch DDP fed from a Parquet copy: scripts/bench input."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import report
from competitor import Competitor, alternate, with_spark

from bloomery import Sequential, layers

HERE = Path(__file__).parent
WORKERS = 2
TIMES_PEER = 2.0
READ_SHARE = 0.1


@dataclass(frozen=True)
class Data:
    """A data set under build/data, and a network that is cheap enough not to matter."""

    folder: str
    features: str
    label: str
    sizes: tuple[int, ...]  # of the dense layers, from inputs to classes
    dtype: str
    batch: int


DATA = {
    "mnist": Data("mnist/train", "image", "label", (784, 128, 10), "uint8", 96),
    "flights": Data("flights/train", "features", "late", (8, 32, 2), "float32", 4096),
}


def network(data: Data) -> Sequential:
    hidden = [layers.Dense(units, activation="relu") for units in data.sizes[1:-1]]
    return Sequential(
        layers.Input(data.sizes[0], dtype=data.dtype), *hidden, layers.Dense(data.sizes[-1], activation="softmax")
    )


class Starter(Competitor):
    """Keeps the phases of every timed start."""

    def measure(self, seconds: float) -> None:
        super().measure(seconds)
        self.starts = [*getattr(self, "starts", []), self.last["phases"]]

    def phases(self) -> dict[str, float]:
        return {name: statistics.median(start[name] for start in self.starts) for name in self.starts[0]}


def measure(options: argparse.Namespace, name: str) -> dict:
    data = DATA[name]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, ExitStack() as stack:
        file.write(network(data).to_json())
        file.flush()
        arguments = ["--data", str(options.folder.parent / data.folder), "--features", data.features]
        arguments += ["--label", data.label, "--batch", str(data.batch), "--workers", str(WORKERS)]
        ours = Starter("bloomery", [sys.executable, str(HERE / "spark_start.py"), "--network", file.name, *arguments])
        command = [options.peer_python, str(HERE / "peers" / "torch_ddp_start.py"), "--sizes", json.dumps(data.sizes)]
        peer = Starter("torch DDP", [*command, *arguments], with_spark(options.spark_home))
        runners = [stack.enter_context(runner) for runner in (ours, peer)]
        alternate(runners, options.blocks, 0, 0)
        cell = report.cell(f"first step, {name}", ours, [report.Goal(peer, TIMES_PEER)], [], 0)
        return {**cell, "phases": {runner.name: runner.phases() for runner in runners}, "read": ours.last["readShare"]}


def lines(cell: dict) -> str:
    (goal,) = cell["goals"]
    note = "  other processes were busy" if cell["disturbed"] else ""
    text = [
        f"{cell['cell']}: {goal['ratio']:.2f}x {goal['of']} ({goal['ofTarget']:.2f} of target {goal['target']}x){note}"
    ]
    for name, phases in cell["phases"].items():
        parts = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases.items())
        text.append(f"  {name:<22}{sum(phases.values()):8.2f} s ±{cell['results'][name]['spread']:4.0%}  {parts}")
    text.append(f"  rows taken in before it: {cell['read']:.1%}, target below {READ_SHARE:.0%}")
    return "\n".join(text)
