"""How a fit went: numbers by epoch, and a picture of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bloomery import jvm
from bloomery.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TrainingSummary:
    """The history of a fit, as it is saved with the model."""

    def __init__(self, text: str, trace: str | None = '{"traceEvents": []}') -> None:
        self._json: dict[str, Any] = json.loads(text)
        self._trace = trace

    @property
    def history(self) -> list[dict[str, Any]]:
        """One dict per epoch: loss, metrics, validation if there was any, learningRate, samplesPerSecond and more."""
        return list(self._json["epochs"])

    @property
    def workerHistory(self) -> list[list[dict[str, Any]]]:
        """The same as each worker saw it, by rank: its rows, bytes and memory, where its time went and what it sent."""
        return [list(epochs) for epochs in self._json.get("workerEpochs", [])]

    @property
    def totalSeconds(self) -> float:
        """From the call of fit to its end."""
        return float(self._json["seconds"])

    @property
    def phases(self) -> dict[str, float]:
        """What the fit took, by phase in order, in seconds that add up to totalSeconds.

        preparing on the driver, starting the workers till they had met, loading rows before the first step, training,
        validation, and returning the model. Of fits that share their rows each counts the others before it as starting.
        """
        return dict(self._json.get("phases", {}))

    @property
    def numWorkers(self) -> int:
        """How many tasks trained together."""
        return int(self._json["workers"])

    @property
    def input(self) -> str:
        """Which way the rows came, "parquet" (read by the engine itself) or "rows", and why."""
        return str(self._json.get("input", ""))

    @property
    def events(self) -> list[dict[str, Any]]:
        """What happened on the way, such as a lost worker, each with `seconds` since the call of fit and `text`."""
        return list(self._json.get("events", []))

    @property
    def trace(self) -> str:
        """What the workers' threads did, by one clock, as JSON for chrome://tracing or Perfetto.

        The last few thousand spans of each, or with traceDir what its file has; not saved with the model.
        """
        if self._trace is None:
            raise jvm.out_of_reach("traces", "set traceDir, in which a fit leaves its own")
        return self._trace

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self._json)

    def plot(self, path: str | None = None) -> Figure:
        """Draws loss and metrics by epoch; with a path, also saves the picture there. Needs matplotlib."""
        try:
            from matplotlib.figure import Figure
            from matplotlib.ticker import MaxNLocator
        except ImportError as error:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from error
        if not self.history:
            raise UserError("No epochs to plot: this model was not trained here, and has no history")
        names = ["loss", *self.history[0]["metrics"]]
        figure = Figure(figsize=(5 * len(names), 4), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            for label, part in (("training", self.history), ("validation", self._validation())):
                if part:
                    values = [epoch["loss"] if name == "loss" else epoch["metrics"][name] for epoch in part]
                    axes.plot(range(1, len(values) + 1), values, marker="o", label=label)
            axes.set(title=name, xlabel="epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
            axes.grid(alpha=0.3)
            axes.legend()
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure

    def _validation(self) -> list[dict[str, Any]]:
        return [epoch["validation"] for epoch in self.history if "validation" in epoch]

    def __repr__(self) -> str:
        return f"TrainingSummary({len(self.history)} epochs, {self.numWorkers} workers, {self.totalSeconds:.1f} s)"
