"""Rows a second from a DataFrame into the engine's row store, and the time to the first step: scripts/bench input.

Rows a second are measured by path and column type; everybody runs on the same core, and reads the same files from the
page cache.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import report
import start
from competitor import Competitor, alternate, with_spark
from generated import generated

HERE = Path(__file__).parent
CONNECTOR = HERE.parents[1] / "spark-connector" / "src" / "main" / "scala"
PATH_SETTING = "spark.bloomery.input.path"
CLASSES = 2
FEW_ROWS = 2000
OF_PARQUET, TIMES_PETASTORM, TIMES_MAP_IN_ARROW = 0.75, 10.0, 3.0
WARM_UP = 8.0  # seconds; a JVM compiles what it runs


@dataclass(frozen=True)
class Column:
    features: str  # for datasets/generate
    shape: tuple[int, ...]
    row_bytes: int
    rows: int
    dtype: str = "float32"
    has_goals: bool = False  # against the peers that go through Python


COLUMNS = {
    "image": Column("features:binary*784", (28, 28, 1), 784, 200_000, "uint8", True),
    "vector": Column("features:float*100", (100,), 400, 400_000, has_goals=True),
    "double": Column("features:double*100", (100,), 800, 200_000),
    "int": Column("features:int*100<1000", (100,), 400, 400_000),
    "scalar": Column("features:float", (1,), 4, 2_000_000),
}


def known_paths() -> list[str]:
    """The paths that the connector can be told to take."""
    chooses = any(PATH_SETTING in file.read_text() for file in CONNECTOR.rglob("*.scala"))
    return ["rows", "parquet"] if chooses else ["rows"]


def measure(options: argparse.Namespace, name: str, paths: list[str]) -> list[dict]:
    column = COLUMNS[name]
    rows = options.rows or column.rows
    data, few = (generated(options.folder, column.features, count, CLASSES, 1) for count in (rows, FEW_ROWS))
    pinned = ["taskset", "--cpu-list", str(options.core)]
    ours = [*pinned, sys.executable, str(HERE / "spark_input.py"), "--data", data, "--few", few]
    ours += ["--shape", json.dumps(column.shape), "--dtype", column.dtype]
    by_path = {path: Competitor(f"bloomery {path}", [*ours, "--path", path]) for path in paths}

    def peer(title: str, python: str, program: str, **environment: str) -> Competitor:
        return Competitor(title, [*pinned, python, str(HERE / "peers" / program), "--data", data], environment)

    parquet = peer("Parquet C++", sys.executable, "arrow_read.py")
    python_peers = []
    if column.has_goals and not options.no_peers:
        spark = peer("mapInArrow", options.peer_python, "map_in_arrow.py", **with_spark(options.spark_home))
        python_peers.append(report.Goal(spark, TIMES_MAP_IN_ARROW))
        if Path(options.petastorm_python).exists():
            petastorm = peer("Petastorm", options.petastorm_python, "petastorm_read.py")
            python_peers.append(report.Goal(petastorm, TIMES_PETASTORM))
    runners = [*by_path.values(), parquet, *(goal.runner for goal in python_peers)]
    with ExitStack() as stack:
        for runner in runners:
            stack.enter_context(runner)
        alternate(runners, options.blocks, options.seconds, WARM_UP)
    cells = []
    for path, runner in by_path.items():
        goals = [report.Goal(parquet, OF_PARQUET)] if path == "parquet" else python_peers
        others = [] if path == "parquet" else [parquet]
        cells.append(
            report.cell(f"{name}, {column.row_bytes} bytes, path {path}", runner, goals, others, column.row_bytes)
        )
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--column", choices=sorted(COLUMNS), help="only this type of column")
    parser.add_argument("--start", choices=sorted(start.DATA), help="only the time to the first step on this data set")
    parser.add_argument("--path", choices=("rows", "parquet"), help="only this path (default: all that there are)")
    parser.add_argument("--rows", type=int, help="of a file (default: some 160 MB)")
    parser.add_argument("--blocks", type=int, default=3, help="timed blocks of each (default: 3)")
    parser.add_argument("--seconds", type=float, default=2, help="least length of a block (default: 2)")
    parser.add_argument("--core", type=int, default=0, help="the one to run on (default: 0)")
    parser.add_argument("--no-peers", action="store_true", help="ours and Parquet C++ alone")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--petastorm-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-python", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--spark-home", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    paths = [options.path] if options.path else known_paths()

    print(f"input: one core for each, medians of {options.blocks} blocks; ours includes the cost of a tiny network")
    cells = []
    for name in [options.column] if options.column else [] if options.start else COLUMNS:
        for cell in measure(options, name, paths):
            cells.append(cell)
            print(report.lines(cell), flush=True)
    for name in [options.start] if options.start else [] if options.column or options.no_peers else start.DATA:
        cells.append(start.measure(options, name))
        print(start.lines(cells[-1]), flush=True)
    report.finish(cells, options.json)


if __name__ == "__main__":
    main()
