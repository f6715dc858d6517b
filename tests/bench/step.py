"""Training samples a second on one worker, ours against PyTorch and TensorFlow: scripts/bench step."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from competitor import Competitor

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
CELLS = [(name, batch) for name, model in MODELS.items() for batch in model.batches]
TARGET = 1.5  # times the best peer
TARGETS = {("solar-mlp-10", 32): 3.0}
WARM_UP = 2.0  # seconds
NOTHING_COMPILES = {"captioning"}  # packed sequences break the graph into pieces


def competitors(options: argparse.Namespace, name: str, network: str, batch: int) -> list[Competitor]:
    model = MODELS[name]
    arguments = ["--network", network, "--batch", str(batch), "--threads", str(options.threads)]
    ours = ["--optimizer", json.dumps(model.optimizer), "--loss", json.dumps(model.loss.split()[0])]
    peer = [*arguments, "--optimizer", model.optimizer, "--loss", model.loss]
    torch = [options.peer_python, str(PEERS / "torch_step.py"), *peer]
    result = [Competitor("bloomery", [options.program, *arguments, *ours]), Competitor("torch nchw", torch)]
    if name in ("mnist-cnn", "cifar-resnet56v2", "fish-resnet34", "solar-cnn"):
        result.append(Competitor("torch nhwc", [*torch, "--layout", "nhwc"]))
    if "compile" in options.peers and name not in NOTHING_COMPILES:
        result.append(Competitor("torch.compile", [*torch, "--compile"]))
    if "tensorflow" in options.peers:
        result.append(Competitor("tensorflow", [options.keras_python, str(PEERS / "keras_step.py"), *peer]))
    return result


def measure(options: argparse.Namespace, model: str, batch: int) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as network, ExitStack() as stack:
        network.write(MODELS[model].network().to_json())
        network.flush()
        runners = [stack.enter_context(runner) for runner in competitors(options, model, network.name, batch)]
        for runner in runners:
            runner.run(WARM_UP)
        for _ in range(options.blocks):
            for runner in runners:
                runner.measure(options.seconds)
        peak = runners[0].ask("peak 0.5")["gigaflops"]
    ours, *peers = runners
    best = max(peers, key=Competitor.median)
    return {
        "model": model,
        "batch": batch,
        "ratio": ours.median() / best.median(),
        "target": TARGETS.get((model, batch), TARGET),
        "best": best.name,
        "ofPeak": 3 * ours.median() * ours.last["flopsPerSample"] / 1e9 / peak,  # backward is two more forwards
        "gigaflops": peak,
        "settings": {peer.name: peer.settings for peer in peers},
        "disturbed": any(runner.is_disturbed() for runner in runners),
        "results": {
            runner.name: {
                "median": runner.median(),
                "spread": runner.spread(),
                "peakBytes": runner.last["peakBytes"],
                "blocks": runner.blocks,
            }
            for runner in runners
        },
    }


def rows(cell: dict) -> str:
    note = "  other processes were busy" if cell["disturbed"] else ""
    lines = [
        f"{cell['model']}, batch {cell['batch']}: {cell['ratio']:.2f}x {cell['best']}, target {cell['target']}x, "
        f"{cell['ofPeak']:.0%} of {cell['gigaflops']:.0f} GFLOP/s{note}"
    ]
    for name, result in cell["results"].items():
        memory = result["peakBytes"] / 2**20
        lines.append(f"  {name:<14}{result['median']:11.1f} samples/s ±{result['spread']:4.0%}{memory:9.0f} MiB")
    return "\n".join(lines)


def worst(cells: list[dict]) -> str:
    cell = min(cells, key=lambda cell: cell["ratio"] / cell["target"])
    place = f"{cell['model']}, batch {cell['batch']}: {cell['ratio']:.2f}x {cell['best']}, target {cell['target']}x"
    return f"worst: {cell['ratio'] / cell['target']:.2f} of target ({place})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), help="only this network")
    parser.add_argument("--batch", type=int, help="only this batch size")
    parser.add_argument("--threads", type=int, default=2, help="of ours and of each peer (default: 2)")
    parser.add_argument("--blocks", type=int, default=5, help="timed blocks of each (default: 5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a block (default: 1.5)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--peers", default="compile,tensorflow", help="besides PyTorch eager (default: all)")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--keras-python", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    wanted = [cell for cell in CELLS if options.model in (None, cell[0]) and options.batch in (None, cell[1])]
    if not wanted:
        wanted = [(options.model or "mnist-cnn", options.batch)]

    print(f"step: training, float32, {options.threads} threads each, medians of {options.blocks} blocks, peak memory")
    cells = []
    for model, batch in wanted:
        cells.append(measure(options, model, batch))
        print(rows(cells[-1]), flush=True)
    for name, settings in {name: text for cell in cells for name, text in cell["settings"].items()}.items():
        print(f"{name}: {settings}")
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2) + "\n")
    print(worst(cells))


if __name__ == "__main__":
    main()
