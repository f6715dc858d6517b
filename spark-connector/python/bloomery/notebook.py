"""A fit's progress bar in a notebook.

The JVM knows how the fit stands; while the cell waits for it, a thread asks twice a second and draws what it hears into
the cell's output. Elsewhere than in a notebook nothing happens: the JVM's own line is on the terminal.
"""

from __future__ import annotations

import html
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bloomery import jvm

_SECONDS = 0.5


@contextmanager
def progress_bar(uid: str, verbose: int) -> Iterator[None]:
    """Shows the fit of the estimator with this uid while the block runs, if this is a notebook."""
    if verbose <= 0 or not _in_notebook():
        yield
        return
    ipython: Any = importlib.import_module("IPython.display")
    from py4j.protocol import Py4JError  # which a client of Spark Connect need not have

    live_fits = jvm.java_class("org.apache.spark.bloomery.LiveFits")
    before = live_fits.json(uid)  # of an earlier fit
    shown = ipython.display(ipython.HTML(render({"state": "waiting"})), display_id=True)
    done = threading.Event()

    def draw() -> None:
        text = live_fits.json(uid)
        if text and text != before:
            shown.update(ipython.HTML(render(json.loads(text))))

    def watch() -> None:
        while not done.wait(_SECONDS):
            draw()

    watcher = threading.Thread(target=watch, name="bloomery-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        with suppress(Py4JError):  # where the JVM is gone, what the fit itself raised says so
            draw()


def render(fit: dict[str, Any]) -> str:
    """The fit as HTML: a bar, a line of numbers, and a row for each epoch that has ended."""
    progress = fit.get("progress", {})
    epochs, steps = progress.get("epochs", 0), progress.get("steps", 0)
    total = epochs * steps
    done = max(progress.get("epoch", 1) - 1, 0) * steps + progress.get("step", 0)
    finished = fit["state"] == "finished"
    known = f' max="{max(total, 1)}" value="{total if finished else done}"' if total or finished else ""
    bar = f'<progress class="bloomery-progress"{known} style="display: block; width: 30em; height: 1.2em"></progress>'
    failure = f"<pre>{html.escape(fit['failure'])}</pre>" if fit.get("failure") else ""
    events = "".join(f"<li>{html.escape(event)}</li>" for event in fit.get("events", []))
    return (
        f'<div class="bloomery-fit">{bar}{html.escape(_line(fit, progress))}{_table(fit.get("epochs", []))}{failure}'
        + (f"<ul>{events}</ul>" if events else "")
        + "</div>"
    )


def _line(fit: dict[str, Any], progress: dict[str, Any]) -> str:
    state: str = fit["state"]
    if state in ("finished", "failed"):
        return f"{state} after {fit['seconds']:.1f} s"
    if state == "loading":
        return f"loading, {progress['rows']} rows on the first worker"
    if state != "training" or progress["epoch"] == 0:  # before the first step there are no numbers
        return state
    step = f"{progress['step']}/{progress['steps']}" if progress["steps"] else f"{progress['step']}"
    numbers = {"loss": progress["loss"], **progress["metrics"]}
    parts = [f"epoch {progress['epoch']}/{progress['epochs']}", f"step {step}"]
    parts += [f"{name} {value:.4f}" for name, value in numbers.items()]
    parts.append(f"{progress['samplesPerSecond']:.0f} samples/s")
    if fit.get("secondsLeft") is not None:
        parts.append(f"{fit['secondsLeft']:.0f} s left")
    return ", ".join(parts)


def _table(epochs: list[dict[str, Any]]) -> str:
    if not epochs:
        return ""
    names = list(epochs[-1]["numbers"])
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ["epoch", *names, "samples/s", "seconds"])
    rows = ""
    for epoch in epochs:
        values = [f"{epoch['numbers'][name]:.4f}" if name in epoch["numbers"] else "" for name in names]
        cells = [str(epoch["epoch"]), *values, f"{epoch['samplesPerSecond']:.0f}", f"{epoch['seconds']:.1f}"]
        rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return f'<table class="bloomery-epochs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
