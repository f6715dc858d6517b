"""Two workers that train together, ours against PyTorch DDP and against two that know nothing of each other:
scripts/bench distributed."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from competitor import Competitor, alternate
from step import MODELS, PEERS

BATCHES = {
    "mnist-cnn": 96,
    "cifar-resnet56v2": 64,
    "captioning": 32,
    "fish-resnet34": 16,
    "solar-mlp-10": 256,
    "solar-mlp-100": 256,
    "solar-cnn": 64,
}  # rows of each worker
IMAGES = {"mnist-cnn", "cifar-resnet56v2", "fish-resnet34", "solar-cnn"}
WORKERS = 2
OF_DDP = 1.2  # times DDP's speed
EFFICIENCY = 0.9  # of two workers apart, where a step takes LONG_STEP or more
EXPOSED = 0.1  # of the time at most, there
LONG_STEP = 0.005  # seconds
WARM_UP = 2.0


class Ours(Competitor):
    """Remembers more of each block than its speed."""

    def run(self, seconds: float) -> float:
        speed = super().run(seconds)
        self.exposed = [*getattr(self, "exposed", []), self.last["exposedShare"]]
        self.step_seconds = [*getattr(self, "step_seconds", []), self.last["secondsPerStep"]]
        return speed


def measure(options: argparse.Namespace, name: str) -> dict:
    model, batch = MODELS[name], options.batch or BATCHES[name]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as network, ExitStack() as stack:
        network.write(model.network().to_json())
        network.flush()
        shared = ["--network", network.name, "--batch", str(batch), "--threads", "1", "--workers", str(WORKERS)]
        spec = ["--optimizer", json.dumps(model.optimizer), "--loss", json.dumps(model.loss.split()[0])]
        together = Ours("bloomery", [options.program, *shared, *spec])
        apart = Competitor("bloomery apart", [options.program, *shared, *spec, "--apart"])
        torch = [options.peer_python, str(PEERS / "torch_step.py"), *shared]
        torch += ["--optimizer", model.optimizer, "--loss", model.loss]
        peers = []
        if not options.no_peers:
            peers.append(Competitor("DDP nchw", torch))
            if name in IMAGES:
                peers.append(Competitor("DDP nhwc", [*torch, "--layout", "nhwc"]))
        runners = [together, apart, *peers]
        for runner in runners:
            stack.enter_context(runner)
        alternate(runners, options.blocks, options.seconds, WARM_UP)
    return cell_of(f"{name}, batch {batch}", together, apart, peers)


def cell_of(name: str, together: Ours, apart: Competitor, peers: list[Competitor]) -> dict:
    step_seconds = statistics.median(together.step_seconds)
    # Blocks of the two lie side by side, so that others who are busy disturb both.
    efficiency = statistics.median(a[0] / b[0] for a, b in zip(together.blocks, apart.blocks, strict=True))
    exposed = statistics.median(together.exposed[1:])
    goals = []
    if peers:
        best = max(peers, key=Competitor.median)
        ratio = together.median() / best.median()
        goals.append({"what": f"{ratio:.2f}x {best.name}", "target": f"{OF_DDP}x", "ofTarget": ratio / OF_DDP})
    if step_seconds >= LONG_STEP:
        goals.append(
            {"what": f"efficiency {efficiency:.2f}", "target": f"{EFFICIENCY}", "ofTarget": efficiency / EFFICIENCY}
        )
        reached = (1 - exposed) / (1 - EXPOSED)  # of the time that is left for computing
        goals.append({"what": f"exposed {exposed:.1%}", "target": f"below {EXPOSED:.0%}", "ofTarget": reached})
    runners = [together, apart, *peers]
    return {
        "cell": name,
        "stepSeconds": step_seconds,
        "efficiency": efficiency,
        "exposed": exposed,
        "goals": goals,
        "disturbed": any(runner.is_disturbed() for runner in runners),
        "settings": {peer.name: peer.settings for peer in peers},
        "results": {
            runner.name: {"median": runner.median(), "spread": runner.spread(), "blocks": runner.blocks}
            for runner in runners
        },
    }


def show(cell: dict) -> str:
    note = "  other processes were busy" if cell["disturbed"] else ""
    goals = [f"{goal['what']} ({goal['ofTarget']:.2f} of target {goal['target']})" for goal in cell["goals"]]
    if cell["stepSeconds"] < LONG_STEP:
        goals.append(f"efficiency {cell['efficiency']:.2f}, exposed {cell['exposed']:.1%}")
    lines = [f"{cell['cell']}, {cell['stepSeconds'] * 1000:.1f} ms a step: {', '.join(goals)}{note}"]
    for name, result in cell["results"].items():
        lines.append(f"  {name:<16}{result['median']:11.1f} samples/s ±{result['spread']:4.0%}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(BATCHES), help="only this network")
    parser.add_argument("--batch", type=int, help="rows of each worker, instead of the network's own")
    parser.add_argument("--blocks", type=int, default=5, help="timed blocks of each (default: 5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a block (default: 1.5)")
    parser.add_argument("--no-peers", action="store_true", help="leave out DDP")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()

    print(f"distributed: float32, {WORKERS} workers of one thread, loopback, medians of {options.blocks} blocks")
    cells = []
    for name in [options.model] if options.model else BATCHES:
        cells.append(measure(options, name))
        print(show(cells[-1]), flush=True)
    for name, settings in {name: text for cell in cells for name, text in cell["settings"].items()}.items():
        print(f"{name}: {settings}")
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2) + "\n")
    goals = [(goal, cell["cell"]) for cell in cells for goal in cell["goals"]]
    if goals:
        goal, name = min(goals, key=lambda pair: pair[0]["ofTarget"])
        print(f"worst: {goal['ofTarget']:.2f} of target ({name}: {goal['what']}, target {goal['target']})")


if __name__ == "__main__":
    main()
