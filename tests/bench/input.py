"""The way of rows from a DataFrame into the engine, part by part: scripts/bench input.

Rows a second are measured by path and column type; everybody runs on the same core, and reads the same files from the
page cache.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import epochs
import growth_of_rows
import limited_memory
import report
import sorted_labels
import start
from competitor import Competitor, alternate, with_spark
from generated import generated

HERE = Path(__file__).parent
PATHS = ["rows", "mixed", "columnar", "parquet"]
CLASSES = 2
OF_PARQUET, TIMES_PETASTORM, TIMES_MAP_IN_ARROW = 0.75, 10.0, 3.0
TO_THE_SYSTEM = {"MALLOC_MMAP_THRESHOLD_": str(128 << 10)}  # from this size on blocks are its, and go back at once
WARM_UP = 20.0  # seconds; on one core the JVM compiles beside what it runs


@dataclass(frozen=True)
class Column:
    features: str  # for datasets/generate
    shape: tuple[int, ...]
    row_bytes: int
    rows: int
    dtype: str = "float32"
    has_goals: bool = False  # against the peers that go through Python


COLUMNS = {
    "image": Column("features:binary*784", (28, 28, 1), 784, 1_000_000, "uint8", True),
    "vector": Column("features:float*100", (100,), 400, 2_000_000, has_goals=True),
    "double": Column("features:double*100", (100,), 800, 1_000_000),
    "int": Column("features:int*100<1000", (100,), 400, 2_000_000),
    "scalar": Column("features:float", (1,), 4, 50_000_000),
}


def paths(options: argparse.Namespace) -> list[str]:
    return [options.path] if options.path else PATHS


def measure(options: argparse.Namespace, name: str, paths: list[str]) -> list[dict]:
    column = COLUMNS[name]
    rows = options.rows or column.rows
    data = generated(options.folder, column.features, rows, CLASSES, 1)
    pinned = ["taskset", "--cpu-list", str(options.core)]
    ours = [*pinned, sys.executable, str(HERE / "spark_input.py"), "--data", data]
    ours += ["--shape", json.dumps(column.shape), "--dtype", column.dtype]
    by_path = {path: Competitor(f"bloomery {path}", [*ours, "--path", path]) for path in paths}

    def peer(title: str, python: str, program: str, *further: str, **environment: str) -> Competitor:
        command = [*pinned, python, str(HERE / "peers" / program), "--data", data, *further]
        return Competitor(title, command, environment)

    def arrow(title: str, *further: str, **environment: str) -> Competitor:
        return replace(
            peer(title, sys.executable, "arrow_read.py", *further, **environment), most_warm_up=options.seconds
        )

    # Peers let go what they have read; ours keeps it, in memory that it takes from the system. So there is one that
    # keeps it too, one that does so in fresh memory, and Spark's reader alone.
    parquet = arrow("Parquet C++")
    kept = arrow("Parquet C++, kept", "--keep")
    fresh = arrow("Parquet C++, kept, fresh", "--keep", "--fresh", **TO_THE_SYSTEM)
    scan = peer("Spark's reader alone", sys.executable, "spark_scan.py")
    python_peers = []
    if column.has_goals and not options.no_peers:
        spark = peer("mapInArrow", options.peer_python, "map_in_arrow.py", **with_spark(options.spark_home))
        python_peers.append(report.Goal(spark, TIMES_MAP_IN_ARROW))
        if Path(options.petastorm_python).exists():
            petastorm = peer("Petastorm", options.petastorm_python, "petastorm_read.py")
            python_peers.append(report.Goal(petastorm, TIMES_PETASTORM))
    runners = [*by_path.values(), parquet, kept, fresh, scan, *(goal.runner for goal in python_peers)]
    with ExitStack() as stack:
        for runner in runners:
            stack.enter_context(runner)
        alternate(runners, options.blocks, options.seconds, options.warm_up)
    cells = []
    for path, runner in by_path.items():
        goals = [report.Goal(parquet, OF_PARQUET)] if path == "parquet" else python_peers
        others = [kept, fresh] if path == "parquet" else [parquet, kept, scan]
        cells.append(
            report.cell(f"{name}, {column.row_bytes} bytes, path {path}", runner, goals, others, column.row_bytes)
        )
    return cells


# What a part measures, one by one, and how each is printed.
Cells = Iterator[tuple[dict, Callable[[dict], str]]]


def columns(options: argparse.Namespace) -> Cells:
    for name in [options.column] if options.column else COLUMNS:
        for cell in measure(options, name, paths(options)):
            yield cell, report.lines


def starts(options: argparse.Namespace) -> Cells:
    for name in start.DATA:
        yield start.measure(options, name), start.lines


def whole_epochs(options: argparse.Namespace) -> Cells:
    for name in epochs.MODELS:
        yield epochs.measure(options, name), epochs.lines


def growth(options: argparse.Namespace) -> Cells:
    for path in paths(options):
        yield growth_of_rows.measure(options, path), growth_of_rows.lines


def limited(options: argparse.Namespace) -> Cells:
    # Rows are kept in the same way whichever way they came.
    yield limited_memory.of_executor(options, paths(options)[-1]), limited_memory.lines
    yield limited_memory.of_program(options), limited_memory.lines


def orders(options: argparse.Namespace) -> Cells:
    yield sorted_labels.measure(options), sorted_labels.lines


PARTS = {
    "columns": columns,
    "start": starts,
    "epochs": whole_epochs,
    "growth": growth,
    "limited": limited,
    "order": orders,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="only this one (default: all)")
    parser.add_argument("--column", choices=sorted(COLUMNS), help="only this type of column")
    parser.add_argument("--path", choices=PATHS, help="only this path (default: all that there are)")
    parser.add_argument("--rows", type=int, help="of a file (default: 400 to 800 MB)")
    parser.add_argument("--blocks", type=int, default=3, help="timed blocks of each (default: 3)")
    parser.add_argument("--seconds", type=float, default=2, help="least length of a block (default: 2)")
    parser.add_argument("--warm-up", type=float, default=WARM_UP, help=f"seconds of each before (default: {WARM_UP:g})")
    parser.add_argument("--core", type=int, default=0, help="the one to run on (default: 0)")
    parser.add_argument("--no-peers", action="store_true", help="ours and Parquet C++ alone")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--petastorm-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--spark-home", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()

    print(f"input: one core for each, medians of {options.blocks} blocks; Parquet to the engine's rows, no training")
    parts = [options.part] if options.part else ["columns"] if options.column else PARTS
    cells = []
    for part in parts:
        for cell, lines in PARTS[part](options):
            cells.append(cell)
            print(lines(cell), flush=True)
    report.finish(cells, options.json)


if __name__ == "__main__":
    main()
