"""Rows a second of transform, against the engine alone and predict_batch_udf with PyTorch: scripts/bench transform."""

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
from competitor import Competitor, alternate, with_spark
from generated import generated

from bloomery import Sequential, layers, zoo
from bloomery.network import Network

HERE = Path(__file__).parent
ENGINE_BATCH = 1024
OF_ENGINE = 0.8


def small_mlp() -> Network:
    """The hidden layers of solar-mlp-10, and ten classes."""
    hidden = [layers.Dense(units, activation="relu") for units in (500, 250, 130)]
    return Sequential(layers.Input(50), *hidden, layers.Dense(CLASSES, activation="softmax"), name="small-mlp")


@dataclass(frozen=True)
class Model:
    network: Callable[[], Network]
    features: str  # column for datasets/generate
    peer_features: str  # predict_batch_udf takes no binary columns
    row_bytes: int
    rows: int


MODELS = {
    "mnist-cnn": Model(zoo.mnist_cnn, "features:binary*784", "features:float*784", 784, 20_000),
    "small-mlp": Model(small_mlp, "features:float*50", "features:float*50", 200, 1_000_000),
}
CLASSES = 10
FILES = 4  # as many partitions on each core, by Spark's own packing


def measure(options: argparse.Namespace, name: str) -> dict:
    model = MODELS[name]
    rows = options.rows or model.rows
    data = generated(options.folder, model.features, rows, CLASSES, FILES)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as network, ExitStack() as stack:
        network.write(model.network().to_json())
        network.flush()
        spark = ["--features", "features", "--cores", str(options.cores)]
        transform = [sys.executable, str(HERE / "spark_transform.py"), "--network", network.name, "--data", data]
        engine = [options.program, "--network", network.name, "--inference", "--batch", str(ENGINE_BATCH)]
        engine += ["--threads", str(options.cores), "--loss", json.dumps("categorical_crossentropy")]
        ours = Competitor("bloomery transform", [*transform, *spark], {"PYSPARK_PYTHON": sys.executable})
        alone = Competitor("engine alone", engine)
        others = []
        if not options.no_peers:
            peer_data = generated(options.folder, model.peer_features, rows, CLASSES, FILES)
            peer = [options.peer_python, str(HERE / "peers" / "torch_predict_udf.py"), "--model", name]
            others = [
                Competitor("predict_batch_udf", [*peer, "--data", peer_data, *spark], with_spark(options.spark_home))
            ]
        runners = [stack.enter_context(runner) for runner in (ours, alone, *others)]
        alternate(runners, options.blocks, options.seconds, options.warm_up)
        return report.cell(f"{name}, {rows} rows", ours, [report.Goal(alone, OF_ENGINE)], others, model.row_bytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), help="only this network")
    parser.add_argument("--rows", type=int, help="to transform (default: some seconds' worth)")
    parser.add_argument("--cores", type=int, default=2, help="of Spark, and threads of the engine alone (default: 2)")
    parser.add_argument("--blocks", type=int, default=3, help="timed blocks of each (default: 3)")
    parser.add_argument("--seconds", type=float, default=4, help="least length of a block (default: 4)")
    parser.add_argument("--warm-up", type=float, default=6, help="seconds before the first block (default: 6)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--no-peers", action="store_true", help="ours and the engine alone")
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--spark-home", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()

    print(f"transform: Parquet to a sink that keeps nothing, {options.cores} cores, medians of {options.blocks} blocks")
    cells = []
    for name in [options.model] if options.model else MODELS:
        cells.append(measure(options, name))
        print(report.lines(cells[-1]), flush=True)
    report.finish(cells, options.json)


if __name__ == "__main__":
    main()
