"""The params of when training ends before its last epoch, and of which epoch's weights are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.ml.param import Param, Params, TypeConverters

from bloomery.params import Settable, number, whole_number

if TYPE_CHECKING:
    from typing_extensions import Self


class StoppingParams(Settable):
    """Early stopping, and the weights of the best epoch."""

    _owner = Params._dummy()

    earlyStoppingPatience: Param[int] = Param(
        _owner,
        "earlyStoppingPatience",
        "epochs without a better value of monitor after which training stops",
        whole_number,
    )
    earlyStoppingMinDelta: Param[float] = Param(
        _owner,
        "earlyStoppingMinDelta",
        "by how much monitor has to be better than the best before to count as better",
        number,
    )
    monitor: Param[str] = Param(
        _owner,
        "monitor",
        "what early stopping and restoreBestWeights watch: loss, a metric, or one of them with validation_ before it",
        TypeConverters.toString,
    )
    restoreBestWeights: Param[bool] = Param(
        _owner,
        "restoreBestWeights",
        "whether the weights of the epoch with the best monitor are taken, instead of the last epoch's",
        TypeConverters.toBoolean,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(earlyStoppingMinDelta=0.0, restoreBestWeights=False)

    def getEarlyStoppingPatience(self) -> int:
        """Epochs without a better value of monitor after which training stops."""
        return self.getOrDefault(self.earlyStoppingPatience)

    def getEarlyStoppingMinDelta(self) -> float:
        """By how much monitor has to be better than the best before to count as better."""
        return self.getOrDefault(self.earlyStoppingMinDelta)

    def getMonitor(self) -> str:
        """What is watched: loss, a metric, or one of them with validation_ before it."""
        return self.getOrDefault(self.monitor)

    def getRestoreBestWeights(self) -> bool:
        """Whether the weights of the best epoch are taken, instead of the last one's."""
        return self.getOrDefault(self.restoreBestWeights)

    def setEarlyStoppingPatience(self, value: int) -> Self:
        """Epochs without a better value of monitor after which training stops."""
        return self.setParams(earlyStoppingPatience=value)

    def setEarlyStoppingMinDelta(self, value: float) -> Self:
        """By how much monitor has to be better than the best before to count as better."""
        return self.setParams(earlyStoppingMinDelta=value)

    def setMonitor(self, value: str) -> Self:
        """What is watched: loss, a metric, or one of them with validation_ before it."""
        return self.setParams(monitor=value)

    def setRestoreBestWeights(self, value: bool) -> Self:
        """Whether the weights of the best epoch are taken, instead of the last one's."""
        return self.setParams(restoreBestWeights=value)
