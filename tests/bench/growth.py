"""How the cost of a step grows with the batch, the depth and the threads, ours alone: scripts/bench growth."""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from competitor import Competitor

from bloomery import Sequential, layers, zoo
from bloomery.network import Network

BATCHES = {
    "mnist-cnn": (zoo.mnist_cnn, "adadelta", (1, 2, 8, 32, 96, 100, 384, 1536)),
    "solar-mlp-10": (lambda: zoo.solar_mlp(10), "adam", (1, 2, 8, 32, 100, 256, 1024, 4096)),
}
DEPTHS = (2, 4, 8, 16, 32, 64)
BLOCKS = 3
SECONDS = 0.5
CLIFF = 1.5  # a step from one row to the next that costs more than this is one


def convolutions(depth: int) -> Network:
    hidden = [layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(depth)]
    return Sequential(layers.Input(16, 16, 3), *hidden, layers.GlobalAveragePool2D(), layers.Dense(1))


def dense(depth: int) -> Network:
    return Sequential(layers.Input(256), *(layers.Dense(256, activation="relu") for _ in range(depth)), layers.Dense(1))


def speeds(program: str, runs: list[tuple[Network, str, str, int, int]]) -> list[float]:
    """Samples a second of (network, optimizer, loss, batch, threads), measured in turns."""
    with ExitStack() as stack:
        runners = []
        for network, optimizer, loss, batch, threads in runs:
            file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".json"))
            file.write(network.to_json())
            file.flush()
            options = {"network": file.name, "batch": batch, "threads": threads}
            options |= {"optimizer": json.dumps(optimizer), "loss": json.dumps(loss)}
            words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
            runners.append(stack.enter_context(Competitor(file.name, [program, *words])))
        for runner in runners:
            runner.run(0.2)
        for _ in range(BLOCKS):
            for runner in runners:
                runner.measure(SECONDS)
        return [runner.median() for runner in runners]


def by_batch(program: str, name: str) -> dict:
    make, optimizer, batches = BATCHES[name]
    loss = "mse" if name.startswith("solar") else "categorical_crossentropy"
    runs = [(make(), optimizer, loss, batch, threads) for batch in batches for threads in (1, 2)]
    measured = speeds(program, runs)
    print(f"{name}: time per sample over the batch size", flush=True)
    print(f"  {'batch':>6}{'1 thread':>12}{'2 threads':>12}{'scaling':>9}")
    rows = []
    for number, batch in enumerate(batches):
        one, two = measured[2 * number], measured[2 * number + 1]
        rows.append({"batch": batch, "oneThread": 1e6 / one, "twoThreads": 1e6 / two})
        print(f"  {batch:>6}{1e6 / one:>9.1f} us{1e6 / two:>9.1f} us{two / one:>9.2f}", flush=True)
    return {"name": name, "rows": rows, "worst": cliff([row["oneThread"] for row in rows])}


def by_depth(program: str, name: str, make, batch: int) -> dict:
    measured = speeds(program, [(make(depth), "sgd", "mse", batch, 2) for depth in DEPTHS])
    print(f"{name}, batch {batch}: time per step over the depth, 2 threads", flush=True)
    print(f"  {'layers':>6}{'step':>12}{'per layer':>12}")
    rows = []
    for depth, speed in zip(DEPTHS, measured, strict=True):
        step = batch / speed * 1e6
        rows.append({"layers": depth, "step": step, "perLayer": step / depth})
        print(f"  {depth:>6}{step:>9.0f} us{step / depth:>9.1f} us", flush=True)
    return {"name": name, "rows": rows, "worst": cliff([row["perLayer"] for row in rows])}


def cliff(costs: list[float]) -> float:
    """The largest rise from one row to the next."""
    return max(after / before for before, after in pairwise(costs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    tables = [by_batch(options.program, name) for name in BATCHES]
    tables += [by_depth(options.program, "Conv2D 32 3x3", convolutions, 32)]
    tables += [by_depth(options.program, "Dense 256", dense, 256)]
    if options.json:
        options.json.write_text(json.dumps(tables, indent=2) + "\n")
    table = max(tables, key=lambda table: table["worst"])
    verdict = "a cliff" if table["worst"] > CLIFF else "no cliff"
    print(f"worst: {table['worst']:.2f}x from one row to the next ({table['name']}): {verdict}")


if __name__ == "__main__":
    main()
