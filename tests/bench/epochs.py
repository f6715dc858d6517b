"""Whole epochs of a fit against the engine's speed on a batch that lies in memory: scripts/bench input."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import report
from competitor import Competitor, alternate
from generated import generated

from bloomery import Sequential, layers, zoo
from bloomery.network import Network

HERE = Path(__file__).parent
OF_ENGINE = 0.95
WAIT_SHARE = 0.01
THREADS = 2
CLASSES = 10
LOSS = "categorical_crossentropy"


def wide_mlp() -> Network:
    """Rows of 2000 floats: the most bytes a step has to be fed with for its work."""
    hidden = [layers.Dense(1000, activation="relu") for _ in range(2)]
    return Sequential(layers.Input(2000), *hidden, layers.Dense(CLASSES, activation="softmax"), name="wide-mlp")


@dataclass(frozen=True)
class Model:
    network: Callable[[], Network]
    features: str  # column for datasets/generate
    row_bytes: int
    rows: int
    optimizer: str
    batch: int


MODELS = {
    "mnist-cnn": Model(zoo.mnist_cnn, "features:binary*784", 784, 12_000, "adadelta", 96),
    "wide-mlp": Model(wide_mlp, "features:float*2000", 8000, 40_000, "adam", 256),
}


def measure(options: argparse.Namespace, name: str) -> dict:
    model = MODELS[name]
    data = generated(options.folder, model.features, model.rows, CLASSES, 4)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as network, ExitStack() as stack:
        network.write(model.network().to_json())
        network.flush()
        common = ["--network", network.name, "--batch", str(model.batch), "--threads", str(THREADS)]
        fit = [sys.executable, str(HERE / "spark_epochs.py"), *common, "--data", data]
        fit += ["--optimizer", model.optimizer, "--loss", LOSS]
        spec = ["--optimizer", json.dumps(model.optimizer), "--loss", json.dumps(LOSS)]
        ours = Competitor("bloomery fit", fit)
        engine = Competitor("engine alone", [options.program, *common, *spec])
        runners = [stack.enter_context(runner) for runner in (ours, engine)]
        alternate(runners, options.blocks, 4, 2)
        cell = report.cell(
            f"epochs of {name}, batch {model.batch}", ours, [report.Goal(engine, OF_ENGINE)], [], model.row_bytes
        )
        return {**cell, "waitShare": ours.last["waitShare"]}


def lines(cell: dict) -> str:
    return (
        f"{report.lines(cell)}\n  waited for rows: {cell['waitShare']:.2%} of the time, target below {WAIT_SHARE:.0%}"
    )
