"""Sixteen times the rows that their memory takes, where what is on disk does not stay in the page cache either:
scripts/bench input.

bloomery-train is to stay within the budget, what the network needs and 64 MB; an executor with sixteen times the rows
is to take hardly more than with once the rows. Both are to keep most of the speed that they have with all rows in
memory, which runs in turns with it. Where the machine lets us make a group of processes with a limit, they run in one.
Each epoch reads nearly all rows from the disk, so it is told beside how fast that is by itself, before each pair.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import growth_of_rows
from disk_alone import disk_speed
from generated import generated
from limited_group import entering, limited_group
from watch import Watch

EPOCHS = 3
SPARE = 64 * 2**20
# What the JVM and Python of an executor have in files: their code, jars.
OF_FILES = 192 * 2**20
ENOUGH = 6 * 2**30  # for all rows
TARGET = 0.8
ROW_BYTES = 4 * growth_of_rows.FEATURES + 4  # with its class


def network_bytes(command: list[str]) -> int:
    told = subprocess.run([*command, "--describe"], stdout=subprocess.PIPE, check=True, text=True).stdout
    (megabytes,) = re.findall(r"^Memory: ([0-9.]+) MB", told, re.MULTILINE)
    return int(1e6 * float(megabytes))


def run(command: list[str], group: Path | None, folder: str, memory: int | None) -> dict:
    history = Path(folder) / "history.json"
    command = [*command, "--epochs", str(EPOCHS), "--history", str(history)]
    if memory is not None:
        command += ["--data-memory", str(memory), "--spill-folder", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=entering(group))
    watch = Watch(process.pid)
    watch.start()
    if process.wait() != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    epochs = json.loads(history.read_text())
    return {"peakBytes": watch.peak, "rows": epochs[0]["rows"], "seconds": [epoch["seconds"] for epoch in epochs]}


def of_program(options: argparse.Namespace) -> dict:
    """The same program with memory for a sixteenth of the rows, and with as much as it likes."""
    features, rows = growth_of_rows.FEATURES, growth_of_rows.TIMES[-1] * growth_of_rows.ROWS
    files = growth_of_rows.TIMES[-1]
    data = generated(options.folder, f"features:float*{features}", rows, growth_of_rows.CLASSES, files)
    network = growth_of_rows.network(features).to_json()
    command = [str(Path(options.program).parent / "bloomery-train"), "--network", network, "--data", data]
    command += ["--features", "features", "--labels", "label", "--batch", "1024"]
    most = growth_of_rows.MEMORY + network_bytes(command) + SPARE
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, limited_group(most) as group:
        measured = in_turns(
            options,
            lambda: run(command, group, folder, growth_of_rows.MEMORY),
            lambda: run(command, None, folder, None),
        )
    peak = max(run["peakBytes"] for run in measured["limited"])
    goal = f"peak {peak / 2**20:.0f} MiB anonymous, target below {most / 2**20:.0f} MiB"
    return cell("bloomery-train, 16 times the rows that its memory takes", most, group, goal, measured)


def of_executor(options: argparse.Namespace, path: str) -> dict:
    """An executor that has room for once the rows and a little more."""
    once, most_times = growth_of_rows.TIMES[0], growth_of_rows.TIMES[-1]
    memory = growth_of_rows.MEMORY
    limit = growth_of_rows.fit(options, path, once, memory)["peakBytes"] + SPARE + OF_FILES
    with limited_group(limit) as group:
        small = growth_of_rows.fit(options, path, once, memory, group)
        measured = in_turns(
            options,
            lambda: growth_of_rows.fit(options, path, most_times, memory, group),
            lambda: growth_of_rows.fit(options, path, most_times, ENOUGH),
        )
    growth = max(run["peakBytes"] for run in measured["limited"]) - small["peakBytes"]
    goal = (
        f"memory grows by {growth / 2**20:.0f} MiB from {once}x to {most_times}x the rows,"
        f" target below {growth_of_rows.MAX_GROWTH >> 20} MiB"
    )
    return cell(f"executor, path {path}", limit, group, goal, measured)


def in_turns(options: argparse.Namespace, limited: Callable[[], dict], free: Callable[[], dict]) -> dict:
    measured: dict[str, list] = {"disk": [], "limited": [], "free": []}
    for _ in range(options.blocks):
        measured["disk"].append(disk_speed(options.folder))
        measured["limited"].append(limited())
        measured["free"].append(free())
    return measured


def later_epochs(runs: list[dict]) -> list[float]:
    """Seconds of each epoch after the first."""
    return [seconds for run in runs for seconds in run["seconds"][1:]]


def cell(name: str, limit: int, group: Path | None, goal: str, measured: dict) -> dict:
    ratio = median(later_epochs(measured["free"])) / median(later_epochs(measured["limited"]))
    return measured | {
        "cell": name,
        "limit": limit,
        "inGroup": group is not None,
        "goal": goal,
        "goals": [{"of": "the speed in memory", "ratio": ratio, "target": TARGET, "ofTarget": ratio / TARGET}],
        "settings": {},
    }


def lines(cell: dict) -> str:
    where = f"in a group of {cell['limit'] >> 20} MiB" if cell["inGroup"] else "no limited group on this machine"
    ratio = cell["goals"][0]["ratio"]
    text = [
        f"{cell['cell']}, {where}: {cell['goal']};"
        f" {ratio:.2f} of the speed in memory after the first epoch, target {TARGET}"
    ]
    for name in ("limited", "free"):
        for run in cell[name]:
            micros = ", ".join(f"{1e6 * seconds / run['rows']:.2f}" for seconds in run["seconds"])
            text.append(
                f"  {name:8} {run['rows']:9} rows  {micros} us a row by epoch  peak {run['peakBytes'] / 2**20:6.0f} MiB"
            )
    (rows,) = {run["rows"] for run in cell["limited"]}
    rates = [ROW_BYTES * rows / seconds / 1e9 for seconds in later_epochs(cell["limited"])]
    alone = ", ".join(f"{speed / 1e9:.2f}" for speed in cell["disk"])
    text.append(
        f"  later epochs take {min(rates):.2f} to {max(rates):.2f} GB/s of rows; the disk alone before them: {alone}"
    )
    return "\n".join(text)
