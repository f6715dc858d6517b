"""What the order of the rows in the files does: MNIST as it is and sorted by label: scripts/bench input."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
MAX_POINTS = 0.5


def sorted_copy(source: Path, target: Path) -> Path:
    """The same rows sorted by label, in as many files."""
    files = sorted(source.glob("*.parquet"))
    if not target.exists():
        table = pa.concat_tables(pq.read_table(file) for file in files).sort_by("label")
        unfinished = target.with_name(f"{target.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        rows = -(-table.num_rows // len(files))
        for i, file in enumerate(files):
            pq.write_table(table.slice(i * rows, rows), unfinished / file.name)
        unfinished.rename(target)
    return target


def measure(options: argparse.Namespace) -> dict:
    mnist = options.folder.parent / "mnist"
    data = {
        "as it is": mnist / "train",
        "sorted by label": sorted_copy(mnist / "train", options.folder / "mnist-sorted"),
    }
    accuracies = {}
    for name, train in data.items():
        command = [
            sys.executable,
            str(HERE / "spark_accuracy.py"),
            "--train",
            str(train),
            "--test",
            str(mnist / "test"),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        accuracies[name] = json.loads(done.stdout.splitlines()[-1])["accuracy"]
    return {"cell": "mnist-cnn, 2 epochs", "accuracies": accuracies, "goals": [], "settings": {}}


def lines(cell: dict) -> str:
    plain, by_label = cell["accuracies"].values()
    text = ", ".join(f"{name} {accuracy:.4f}" for name, accuracy in cell["accuracies"].items())
    points = 100 * (plain - by_label)
    return f"{cell['cell']}: test accuracy {text}; sorted loses {points:.2f} points, target at most {MAX_POINTS}"
