"""Sums over ranks, ours against plain Gloo, from 4 bytes to 256 MiB: scripts/bench allreduce."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import time
from pathlib import Path

from competitor import busy_seconds

TARGET = 0.9  # of plain Gloo's speed, the median of the sizes of a decade, for two ranks
LATENCY_RULES = 2**20  # bytes, up to which encryption has to reach it, too
ENCRYPTED_TARGET = 0.25  # above
# As workers on one machine do it, over connections as between machines, and encrypted.
OURS = ("bloomery", "sockets", "encrypted")
QUIET = 0.1  # cores that others may use


def measure(program: str, ranks: int, options: argparse.Namespace) -> list[dict]:
    command = [program, "--ranks", str(ranks), "--largest", str(options.largest), "--rounds", str(options.rounds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [json.loads(line) for line in process.stdout]
    if process.returncode:
        raise SystemExit(f"bench: failed: {' '.join(command)}")
    return lines


def idle_cores_used() -> float:
    """What others use while we sleep."""
    start, busy = time.monotonic(), busy_seconds()
    time.sleep(1)
    return (busy_seconds() - busy) / (time.monotonic() - start)


def size_name(size: int) -> str:
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B"


def sizes_name(members: list[dict]) -> str:
    return f"{size_name(members[0]['bytes'])} to {size_name(members[-1]['bytes'])}"


def cells_of(lines: list[dict], ours: str) -> list[dict]:
    """A cell for each decade of sizes; a size's ratio is the median of those of its rounds, which ran side by side."""
    decades: dict[int, list[dict]] = {}
    for line in lines:
        rounds = [theirs / mine for mine, theirs in zip(line[ours], line["gloo"], strict=True)]
        measured = {**line, "ours": line[ours], "ratio": statistics.median(rounds)}
        decades.setdefault(int(math.log10(line["bytes"])), []).append(measured)
    return [
        {
            "cell": f"{ours}, {members[0]['ranks']} ranks, {sizes_name(members)}",
            "ranks": members[0]["ranks"],
            "ratio": statistics.median(member["ratio"] for member in members),
            "target": target(ours, members[-1]) if members[0]["ranks"] == 2 else None,
            "sizes": members,
        }
        for members in decades.values()
    ]


def target(ours: str, largest: dict) -> float:
    return ENCRYPTED_TARGET if ours == "encrypted" and largest["bytes"] > LATENCY_RULES else TARGET


def row(line: dict) -> str:
    ours, theirs = (statistics.median(line[name]) for name in ("ours", "gloo"))
    speed = line["bytes"] / ours / 1e9
    return (
        f"  {size_name(line['bytes']):>9}{ours * 1e6:13.1f} us{theirs * 1e6:13.1f} us{line['ratio']:8.2f}x"
        f"{speed:9.3f} GB/s"
    )


def show(cell: dict) -> str:
    reached = f", {cell['ratio'] / cell['target']:.2f} of target {cell['target']}x" if cell["target"] else ""
    return "\n".join([f"{cell['cell']}: {cell['ratio']:.2f}x gloo{reached}", *(row(line) for line in cell["sizes"])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, action="append", help="only so many (default: 2, then 4 and 8)")
    parser.add_argument("--largest", type=int, default=2**28, help="bytes of the largest message (default: 256 MiB)")
    parser.add_argument("--rounds", type=int, default=7, help="timed rounds of each size (default: 7)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()

    others = idle_cores_used()
    note = f"; other processes were busy: {others:.1f} cores" if others > QUIET else ""
    print(f"allreduce: float32, one process a rank, loopback, medians of {options.rounds} rounds{note}")
    print(f"  {'bytes':>9}{'ours':>16}{'plain gloo':>16}{'ratio':>9}{'ours':>14}")
    cells = []
    for ranks in options.ranks or (2, 4, 8):
        lines = measure(options.program, ranks, options)
        for cell in [cell for ours in OURS for cell in cells_of(lines, ours)]:
            cells.append(cell)
            print(show(cell), flush=True)
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2) + "\n")
    held = [cell for cell in cells if cell["target"]]
    if held:
        cell = min(held, key=lambda cell: cell["ratio"] / cell["target"])
        place = f"{cell['cell']}: {cell['ratio']:.2f}x plain gloo, target {cell['target']}x"
        print(f"worst: {cell['ratio'] / cell['target']:.2f} of target ({place})")


if __name__ == "__main__":
    main()
