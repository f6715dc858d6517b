"""Samples a second of training and inference on one worker, ours against PyTorch and TensorFlow: scripts/bench step."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from competitor import Competitor, alternate

from bloomery import zoo
from bloomery.network import Network

PEERS = Path(__file__).parent / "peers"


@dataclass
class Model:
    network: Callable[[], Network]
    loss: str
    optimizer: str
    batches: tuple[int, ...]


MODELS = {
    "mnist-cnn": Model(zoo.mnist_cnn, "categorical_crossentropy", "adadelta", (96, 384, 1536)),
    "cifar-resnet56v2": Model(zoo.cifar_resnet56v2, "categorical_crossentropy", "adam", (64, 128)),
    "captioning": Model(zoo.captioning, "categorical_crossentropy", "adam", (32, 256)),
    "fish-resnet34": Model(zoo.fish_resnet34, "mse of softmax", "sgd", (32,)),
    "solar-mlp-10": Model(lambda: zoo.solar_mlp(10), "mse", "adam", (32, 256, 1024)),
    "solar-mlp-100": Model(lambda: zoo.solar_mlp(100), "mse", "adam", (256,)),
    "solar-cnn": Model(zoo.solar_cnn, "mse", "adam", (64,)),
}
INFERENCE = {"mnist-cnn": (1024,), "solar-mlp-10": (1024,)}
TARGET = 1.5  # times the best peer
TARGETS = {("solar-mlp-10", 32): 3.0}
OF_PRIMITIVES = 0.9  # of the speed of the network's oneDNN primitives alone, where that is less
WARM_UP = 2.0  # seconds
NOTHING_COMPILES = {"captioning"}  # packed sequences break the graph into pieces


@dataclass(frozen=True)
class Cell:
    model: str
    batch: int
    inference: bool = False

    def __str__(self) -> str:
        return f"{self.model}{' inference' if self.inference else ''}, batch {self.batch}"


CELLS = [
    *(Cell(name, batch) for name, model in MODELS.items() for batch in model.batches),
    *(Cell(name, batch, True) for name, batches in INFERENCE.items() for batch in batches),
]


@dataclass
class Field:
    """All who run one cell."""

    ours: Competitor
    primitives: Competitor
    peers: list[Competitor]

    def all(self) -> list[Competitor]:
        return [self.ours, self.primitives, *self.peers]


def competitors(options: argparse.Namespace, cell: Cell, network: str) -> Field:
    model = MODELS[cell.model]
    arguments = ["--network", network, "--batch", str(cell.batch), "--threads", str(options.threads)]
    if cell.inference:
        arguments.append("--inference")
    spec = ["--optimizer", json.dumps(model.optimizer), "--loss", json.dumps(model.loss.split()[0])]
    ours = [options.program, *arguments, *spec]
    peer = [*arguments, "--optimizer", model.optimizer, "--loss", model.loss]
    torch = [options.peer_python, str(PEERS / "torch_step.py"), *peer]
    peers = [Competitor("torch nchw", torch)]
    if cell.model in ("mnist-cnn", "cifar-resnet56v2", "fish-resnet34", "solar-cnn"):
        peers.append(Competitor("torch nhwc", [*torch, "--layout", "nhwc"]))
    if "compile" in options.peers and cell.model not in NOTHING_COMPILES:
        peers.append(Competitor("torch.compile", [*torch, "--compile"]))
    if "tensorflow" in options.peers:
        peers.append(Competitor("tensorflow", [options.keras_python, str(PEERS / "keras_step.py"), *peer]))
    return Field(Competitor("bloomery", ours), Competitor("primitives", [*ours, "--primitives"]), peers)


def target(cell: Cell, best: float, primitives: float) -> tuple[float, str]:
    """Samples a second, and where that comes from."""
    factor = TARGETS.get((cell.model, cell.batch), TARGET)
    if factor == TARGET and OF_PRIMITIVES * primitives < factor * best:
        return OF_PRIMITIVES * primitives, f"{OF_PRIMITIVES} of the primitives alone"
    return factor * best, f"{factor}x the best peer"


def measure(options: argparse.Namespace, cell: Cell) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as network, ExitStack() as stack:
        network.write(MODELS[cell.model].network().to_json())
        network.flush()
        runners = competitors(options, cell, network.name)
        for runner in runners.all():
            stack.enter_context(runner)
        alternate(runners.all(), options.blocks, options.seconds, WARM_UP)
        peak = runners.ours.ask("peak 0.5")["gigaflops"]
    ours, best = runners.ours, max(runners.peers, key=Competitor.median)
    wanted, reason = target(cell, best.median(), runners.primitives.median())
    passes = 1 if cell.inference else 3  # backward is two more forwards
    return {
        "cell": str(cell),
        "ratio": ours.median() / best.median(),
        "ofPrimitives": ours.median() / runners.primitives.median(),
        "ofTarget": ours.median() / wanted,
        "target": reason,
        "best": best.name,
        "ofPeak": passes * ours.median() * ours.last["flopsPerSample"] / 1e9 / peak,
        "gigaflops": peak,
        "settings": {peer.name: peer.settings for peer in runners.peers},
        "disturbed": any(runner.is_disturbed() for runner in runners.all()),
        "results": {
            runner.name: {
                "median": runner.median(),
                "spread": runner.spread(),
                "peakBytes": runner.last["peakBytes"],
                "blocks": runner.blocks,
            }
            for runner in runners.all()
        },
    }


def rows(cell: dict) -> str:
    note = "  other processes were busy" if cell["disturbed"] else ""
    lines = [
        f"{cell['cell']}: {cell['ratio']:.2f}x {cell['best']}, {cell['ofPrimitives']:.2f} of the primitives alone, "
        f"{cell['ofTarget']:.2f} of target ({cell['target']}), "
        f"{cell['ofPeak']:.0%} of {cell['gigaflops']:.0f} GFLOP/s{note}"
    ]
    for name, result in cell["results"].items():
        memory = result["peakBytes"] / 2**20
        lines.append(f"  {name:<14}{result['median']:11.1f} samples/s ±{result['spread']:4.0%}{memory:9.0f} MiB")
    return "\n".join(lines)


def worst(cells: list[dict]) -> str:
    cell = min(cells, key=lambda cell: cell["ofTarget"])
    place = f"{cell['cell']}: {cell['ratio']:.2f}x {cell['best']}, target {cell['target']}"
    return f"worst: {cell['ofTarget']:.2f} of target ({place})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), help="only this network")
    parser.add_argument("--batch", type=int, help="only this batch size")
    parser.add_argument("--inference", action="store_true", help="only inference")
    parser.add_argument("--threads", type=int, default=2, help="of ours and of each peer (default: 2)")
    parser.add_argument("--blocks", type=int, default=5, help="timed blocks of each (default: 5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a block (default: 1.5)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--peers", default="compile,tensorflow", help="besides PyTorch eager (default: all)")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--keras-python", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    wanted = [
        cell
        for cell in CELLS
        if options.model in (None, cell.model)
        and options.batch in (None, cell.batch)
        and (cell.inference or not options.inference)
    ]
    if not wanted:
        wanted = [Cell(options.model or "mnist-cnn", options.batch or 1024, options.inference)]

    print(f"step: float32, {options.threads} threads each, medians of {options.blocks} blocks, peak memory")
    cells = []
    for cell in wanted:
        cells.append(measure(options, cell))
        print(rows(cells[-1]), flush=True)
    for name, settings in {name: text for cell in cells for name, text in cell["settings"].items()}.items():
        print(f"{name}: {settings}")
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2) + "\n")
    print(worst(cells))


if __name__ == "__main__":
    main()
