"""Training samples a second on one worker, ours against PyTorch: scripts/bench step."""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

from competitor import Competitor

from bloomery import zoo

PEER = Path(__file__).parent / "peers" / "torch_step.py"
MODELS = {"mnist-cnn": zoo.mnist_cnn}
CELLS = [("mnist-cnn", 96), ("mnist-cnn", 384), ("mnist-cnn", 1536)]
NAMES = ("bloomery", "torch nchw", "torch nhwc")
TARGET = 1.5  # times the best peer
WARM_UP = 2.0  # seconds


def competitors(options: argparse.Namespace, network: str, batch: int) -> list[Competitor]:
    arguments = ["--network", network, "--batch", str(batch), "--threads", str(options.threads)]
    peer = [options.peer_python, str(PEER), *arguments]
    commands = ([options.program, *arguments], [*peer, "--layout", "nchw"], [*peer, "--layout", "nhwc"])
    return [Competitor(name, command) for name, command in zip(NAMES, commands, strict=True)]


def measure(options: argparse.Namespace, model: str, batch: int) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as network, ExitStack() as stack:
        network.write(MODELS[model]().to_json())
        network.flush()
        runners = [stack.enter_context(runner) for runner in competitors(options, network.name, batch)]
        for runner in runners:
            runner.run(WARM_UP)
        for _ in range(options.blocks):
            for runner in runners:
                runner.measure(options.seconds)
    ours, *peers = runners
    best = max(peers, key=Competitor.median)
    return {
        "model": model,
        "batch": batch,
        "ratio": ours.median() / best.median(),
        "target": TARGET,
        "best": best.name,
        "settings": {peer.name: peer.settings for peer in peers},
        "disturbed": any(runner.is_disturbed() for runner in runners),
        "results": {
            runner.name: {"median": runner.median(), "spread": runner.spread(), "blocks": runner.blocks}
            for runner in runners
        },
    }


def row(cell: dict) -> str:
    numbers = "".join(f"{result['median']:11.1f} ±{result['spread']:4.0%}" for result in cell["results"].values())
    note = "  other processes were busy" if cell["disturbed"] else ""
    return f"{cell['model']:<12} {cell['batch']:>5}{numbers}  {cell['ratio']:6.2f} {cell['target']:6.2f}{note}"


def worst(cells: list[dict]) -> str:
    cell = min(cells, key=lambda cell: cell["ratio"] / cell["target"])
    place = f"{cell['model']}, batch {cell['batch']}: {cell['ratio']:.2f}x {cell['best']}, target {cell['target']}x"
    return f"worst: {cell['ratio'] / cell['target']:.2f} of target ({place})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), help="only this network")
    parser.add_argument("--batch", type=int, help="only this batch size")
    parser.add_argument("--threads", type=int, default=2, help="of ours and of each peer (default: 2)")
    parser.add_argument("--blocks", type=int, default=7, help="timed blocks of each (default: 7)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a block (default: 1.5)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    wanted = [cell for cell in CELLS if options.model in (None, cell[0]) and options.batch in (None, cell[1])]
    if not wanted:
        wanted = [(options.model or "mnist-cnn", options.batch)]

    print(f"step: training samples/s, float32, {options.threads} threads each, medians of {options.blocks} blocks")
    names = "".join(f"{name:>17}" for name in NAMES)
    print(f"{'network':<12} {'batch':>5}{names}   ratio target")
    cells = []
    for model, batch in wanted:
        cells.append(measure(options, model, batch))
        print(row(cells[-1]), flush=True)
    for name, settings in cells[0]["settings"].items():
        print(f"{name}: {settings}")
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2) + "\n")
    print(worst(cells))


if __name__ == "__main__":
    main()
