"""bloomery-train on sixteen times the rows that its memory takes: scripts/bench input.

Its anonymous memory is to stay within the budget, what the network needs and 64 MB. Where the machine lets us make a
group of processes with a limit, it runs in one that has no more than that, page cache included.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import growth_of_rows
from generated import generated
from watch import Watch

EPOCHS = 3
SPARE = 64 * 2**20
GROUPS = Path("/sys/fs/cgroup/memory")  # control groups of the first version, which keep a limit each


@contextmanager
def limited_group(limit: int) -> Iterator[Path | None]:
    """A new group whose processes have so many bytes together; None: not possible here."""
    group = GROUPS / f"bloomery-bench-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        yield group
    finally:
        group.rmdir()


def network_bytes(command: list[str]) -> int:
    told = subprocess.run([*command, "--describe"], stdout=subprocess.PIPE, check=True, text=True).stdout
    (megabytes,) = re.findall(r"^Memory: ([0-9.]+) MB", told, re.MULTILINE)
    return int(1e6 * float(megabytes))


def run(command: list[str], group: Path | None, folder: str, memory: int | None) -> dict:
    history = Path(folder) / "history.json"
    command = [*command, "--epochs", str(EPOCHS), "--history", str(history)]
    if memory is not None:
        command += ["--data-memory", str(memory), "--spill-folder", folder]
    enter = None if group is None else lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=enter)
    watch = Watch(process.pid)
    watch.start()
    if process.wait() != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    seconds = [epoch["seconds"] for epoch in json.loads(history.read_text())]
    return {"peakBytes": watch.peak, "seconds": seconds}


def measure(options: argparse.Namespace) -> dict:
    """The same program with memory for a sixteenth of the rows, and with as much as it likes."""
    features, rows = growth_of_rows.FEATURES, growth_of_rows.TIMES[-1] * growth_of_rows.ROWS
    files = growth_of_rows.TIMES[-1]
    data = generated(options.folder, f"features:float*{features}", rows, growth_of_rows.CLASSES, files)
    network = growth_of_rows.network(features).to_json()
    command = [str(Path(options.program).parent / "bloomery-train"), "--network", network, "--data", data]
    command += ["--features", "features", "--labels", "label", "--batch", "1024"]
    most = growth_of_rows.MEMORY + network_bytes(command) + SPARE
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        with limited_group(most) as group:
            limited = run(command, group, folder, growth_of_rows.MEMORY)
        free = run(command, None, folder, None)
    return {
        "cell": "bloomery-train, 16 times the rows that its memory takes",
        "rows": rows,
        "limited": limited,
        "free": free,
        "most": most,
        "inGroup": group is not None,
        "goals": [],
        "settings": {},
    }


def lines(cell: dict) -> str:
    where = "in a group of that limit" if cell["inGroup"] else "no limited group on this machine"
    text = [
        f"{cell['cell']}: peak {cell['limited']['peakBytes'] / 2**20:.0f} MiB anonymous,"
        f" target below {cell['most'] / 2**20:.0f} MiB ({where})"
    ]
    for name in ("limited", "free"):
        micros = ", ".join(f"{1e6 * seconds / cell['rows']:.2f}" for seconds in cell[name]["seconds"])
        text.append(
            f"  {name:8} {cell['rows']:9} rows  {micros} us a row by epoch"
            f"  peak {cell[name]['peakBytes'] / 2**20:6.0f} MiB"
        )
    return "\n".join(text)
