"""What the benchmarks of the data path print: a cell for each thing measured, its goals, and the worst of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from competitor import Competitor


@dataclass(frozen=True)
class Goal:
    """Ours is to reach this many times the speed of somebody else."""

    runner: Competitor
    factor: float


def cell(name: str, ours: Competitor, goals: list[Goal], others: list[Competitor], row_bytes: int) -> dict:
    """A goal that its runner cannot meet here, because it is not installed, is left out by the caller."""
    runners = [ours, *(goal.runner for goal in goals), *others]
    return {
        "cell": name,
        "rowBytes": row_bytes,
        "goals": [
            {
                "of": goal.runner.name,
                "ratio": ours.median() / goal.runner.median(),
                "target": goal.factor,
                "ofTarget": ours.median() / goal.runner.median() / goal.factor,
            }
            for goal in goals
        ],
        "ratios": {other.name: ours.median() / other.median() for other in others},
        "settings": {runner.name: runner.settings for runner in runners},
        "disturbed": any(runner.is_disturbed() for runner in runners),
        "results": {
            runner.name: {
                "median": runner.median(),
                "spread": runner.spread(),
                "peakBytes": runner.last.get("peakBytes", 0),
                "blocks": runner.blocks,
            }
            for runner in runners
        },
    }


def lines(cell: dict) -> str:
    note = "  other processes were busy" if cell["disturbed"] else ""
    reached = [
        f"{goal['ratio']:.2f}x {goal['of']} ({goal['ofTarget']:.2f} of target {goal['target']}x)"
        for goal in cell["goals"]
    ]
    reached += [f"{ratio:.2f}x {name}" for name, ratio in cell["ratios"].items()]
    text = [f"{cell['cell']}: {', '.join(reached)}{note}"]
    for name, result in cell["results"].items():
        gigabytes = result["median"] * cell["rowBytes"] / 1e9
        memory = f"{result['peakBytes'] / 2**20:9.0f} MiB" if result["peakBytes"] else ""
        text.append(
            f"  {name:<22}{result['median']:12.0f} rows/s{gigabytes:8.3f} GB/s ±{result['spread']:4.0%}{memory}"
        )
    return "\n".join(text)


def finish(cells: list[dict], file: Path | None) -> None:
    for name, settings in {name: text for cell in cells for name, text in cell["settings"].items() if text}.items():
        print(f"{name}: {settings}")
    if file:
        file.write_text(json.dumps(cells, indent=2) + "\n")
    goals = [(goal, cell["cell"]) for cell in cells for goal in cell["goals"]]
    if goals:
        goal, name = min(goals, key=lambda pair: pair[0]["ofTarget"])
        place = f"{name}: {goal['ratio']:.2f}x {goal['of']}, target {goal['target']}x"
        print(f"worst: {goal['ofTarget']:.2f} of target ({place})")
