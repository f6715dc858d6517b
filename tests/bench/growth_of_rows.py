"""Once, four times and sixteen times the rows with one budget for them: scripts/bench input.

Time per row and memory are to stay flat.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from generated import generated
from limited_group import entering

from bloomery import Sequential, layers

HERE = Path(__file__).parent
FEATURES = 100
ROWS = 640_000  # 256 MB
TIMES = (1, 4, 16)
MEMORY = 256 * 2**20
MAX_GROWTH = 64 * 2**20
CLASSES = 2


def network(features: int) -> Sequential:
    """A small one: rows are what counts."""
    return Sequential(
        layers.Input(features), layers.Dense(64, activation="relu"), layers.Dense(CLASSES, activation="softmax")
    )


def fit(options: argparse.Namespace, path: str, times: int, memory: int, group: Path | None = None) -> dict:
    """So many times the rows, with so much memory for them."""
    # More files of the same size, as a larger table has.
    data = generated(options.folder, f"features:float*{FEATURES}", times * ROWS, CLASSES, times)
    command = [sys.executable, str(HERE / "spark_growth.py"), "--data", data, "--features", str(FEATURES)]
    command += ["--memory", str(memory), "--path", path]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, preexec_fn=entering(group))
    return json.loads(done.stdout.splitlines()[-1])


def measure(options: argparse.Namespace, path: str) -> dict:
    runs = [fit(options, path, times, MEMORY) for times in TIMES]
    return {
        "cell": f"growth, path {path}",
        "runs": runs,
        "goals": [],
        "settings": {},
        "growth": runs[-1]["peakBytes"] - runs[0]["peakBytes"],
    }


def lines(cell: dict) -> str:
    text = [
        f"{cell['cell']}, {MEMORY >> 20} MiB for rows: memory grows by {cell['growth'] / 2**20:.0f} MiB"
        f" from {TIMES[0]}x to {TIMES[-1]}x the rows, target below {MAX_GROWTH >> 20} MiB"
    ]
    for times, run in zip(TIMES, cell["runs"], strict=True):
        micros = ", ".join(f"{1e6 * seconds / run['rows']:.2f}" for seconds in run["seconds"])
        text.append(
            f"  {times:3}x {run['rows']:9} rows  {micros} us a row by epoch  peak {run['peakBytes'] / 2**20:6.0f} MiB"
            f" anonymous, {run['before'] / 2**20:.0f} before the fit"
        )
    return "\n".join(text)
