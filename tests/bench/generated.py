"""The rows of the benchmarks, made once by datasets/generate and kept under build/data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GENERATE = Path(__file__).resolve().parents[2] / "datasets" / "generate.py"


def generated(folder: Path, features: str, rows: int, classes: int, files: int) -> str:
    """A folder of Parquet with a features column, as datasets/generate writes it, and a label."""
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{features}-{classes}-{rows}-{files}")
    columns = f"{features},label:int<{classes}"
    command = [sys.executable, GENERATE, "--output", folder / name, "--rows", rows, "--columns", columns]
    subprocess.run([str(word) for word in (*command, "--files", files)], check=True)
    return str(folder / name)
