"""A program that is being measured: it reads lines "run SECONDS" and answers each with a line of JSON."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Blocks during which other processes used more than this many cores are set aside, if enough quiet ones remain.
QUIET = 0.1
ENOUGH = 3


def with_spark(home: str) -> dict[str, str]:
    """The environment in which a Python of its own finds this Spark."""
    paths = [str(path) for path in sorted((Path(home) / "python" / "lib").glob("*.zip"))]
    return {"SPARK_HOME": home, "PYTHONPATH": os.pathsep.join(paths)}


def busy_seconds() -> float:
    """Processor seconds of the whole machine so far, all but idle and waiting for disks."""
    with open("/proc/stat") as stat:
        values = [int(word) for word in stat.readline().split()[1:9]]
    return (sum(values) - values[3] - values[4]) / TICKS


def process_seconds(process: int) -> float:
    """Of the process, of those that it started and, once they have ended and were waited for, of those as well."""
    parents, ticks = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(folder.name)
        parents[number], ticks[number] = int(words[1]), sum(int(word) for word in words[11:15])
    family = {process}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(ticks.get(member, 0) for member in family) / TICKS


@dataclass
class Competitor:
    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    most_warm_up: float = math.inf  # seconds, for one that needs less than the others
    settings: str = ""
    last: dict = field(default_factory=dict)  # the last answer
    blocks: list[tuple[float, float]] = field(default_factory=list)  # samples a second, cores used by others

    def __enter__(self) -> Competitor:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def ask(self, line: str) -> dict:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: {self.name} gave no answer; its command: {' '.join(self.command)}")
        return json.loads(answer)

    def run(self, seconds: float) -> float:
        self.last = self.ask(f"run {seconds}")
        self.settings = self.last.get("settings", self.settings)
        return self.last["samplesPerSecond"]

    def measure(self, seconds: float) -> None:
        start, busy, own = time.monotonic(), busy_seconds(), process_seconds(self.process.pid)
        result = self.run(seconds)
        others = busy_seconds() - busy - (process_seconds(self.process.pid) - own)
        self.blocks.append((result, max(0.0, others / (time.monotonic() - start))))

    def counted(self) -> list[float]:
        quiet = [result for result, others in self.blocks if others < QUIET]
        return quiet if len(quiet) >= ENOUGH else [result for result, _ in self.blocks]

    def is_disturbed(self) -> bool:
        return sum(others < QUIET for _, others in self.blocks) < min(ENOUGH, len(self.blocks))

    def median(self) -> float:
        return statistics.median(self.counted())

    def spread(self) -> float:
        """Half of the distance between the slowest and the fastest block, as a part of the median."""
        return (max(self.counted()) - min(self.counted())) / 2 / self.median()


def alternate(runners: list[Competitor], blocks: int, seconds: float, warm_up: float) -> None:
    """Each once to warm up, then all in turns."""
    for runner in runners:
        runner.run(min(warm_up, runner.most_warm_up))
    for _ in range(blocks):
        for runner in runners:
            runner.measure(seconds)
