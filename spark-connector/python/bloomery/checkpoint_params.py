"""The params of checkpoints, under the names and with the documentation of the JVM's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.ml.param import Param, Params, TypeConverters

from bloomery.params import Settable, large_whole_number, number, whole_number

if TYPE_CHECKING:
    from typing_extensions import Self


class CheckpointParams(Settable):
    """Where, when and how many checkpoints are kept, and what is made of those that are there."""

    _owner = Params._dummy()

    checkpointPath: Param[str] = Param(
        _owner,
        "checkpointPath",
        "a folder of any file system that Spark knows, in which the state of the training is saved; one for each fit",
        TypeConverters.toString,
    )
    checkpointInterval: Param[int] = Param(
        _owner,
        "checkpointInterval",
        "epochs between two checkpoints, or -1 for none at the ends of epochs",
        whole_number,
    )
    checkpointSteps: Param[int] = Param(_owner, "checkpointSteps", "steps between two checkpoints", large_whole_number)
    checkpointMinutes: Param[float] = Param(_owner, "checkpointMinutes", "minutes between two checkpoints", number)
    keepCheckpoints: Param[int] = Param(
        _owner, "keepCheckpoints", "how many checkpoints stay, the newest", whole_number
    )
    resume: Param[str] = Param(
        _owner,
        "resume",
        "what becomes of checkpoints in checkpointPath: auto goes on from the newest, weights takes its weights alone,"
        " never starts anew",
        TypeConverters.toString,
    )
    maxRestarts: Param[int] = Param(
        _owner,
        "maxRestarts",
        "how often the training is submitted again when workers were lost in all attempts that Spark makes",
        whole_number,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(keepCheckpoints=2, resume="auto", maxRestarts=0)

    def getCheckpointPath(self) -> str:
        """The folder of the checkpoints."""
        return self.getOrDefault(self.checkpointPath)

    def getCheckpointInterval(self) -> int:
        """Epochs between two checkpoints."""
        return self.getOrDefault(self.checkpointInterval)

    def getCheckpointSteps(self) -> int:
        """Steps between two checkpoints."""
        return self.getOrDefault(self.checkpointSteps)

    def getCheckpointMinutes(self) -> float:
        """Minutes between two checkpoints."""
        return self.getOrDefault(self.checkpointMinutes)

    def getKeepCheckpoints(self) -> int:
        """How many checkpoints stay."""
        return self.getOrDefault(self.keepCheckpoints)

    def getResume(self) -> str:
        """What becomes of checkpoints that are there: auto, weights or never."""
        return self.getOrDefault(self.resume)

    def getMaxRestarts(self) -> int:
        """How often the training is submitted again when workers were lost."""
        return self.getOrDefault(self.maxRestarts)

    def setCheckpointPath(self, value: str) -> Self:
        """A folder of any file system that Spark knows, in which the state of the training is saved."""
        return self.setParams(checkpointPath=value)

    def setCheckpointInterval(self, value: int) -> Self:
        """Epochs between two checkpoints, or -1 for none at the ends of epochs."""
        return self.setParams(checkpointInterval=value)

    def setCheckpointSteps(self, value: int) -> Self:
        """Steps between two checkpoints."""
        return self.setParams(checkpointSteps=value)

    def setCheckpointMinutes(self, value: float) -> Self:
        """Minutes between two checkpoints."""
        return self.setParams(checkpointMinutes=value)

    def setKeepCheckpoints(self, value: int) -> Self:
        """How many checkpoints stay, the newest."""
        return self.setParams(keepCheckpoints=value)

    def setResume(self, value: str) -> Self:
        """Goes on from the newest checkpoint (auto), takes its weights alone (weights), or starts anew (never)."""
        return self.setParams(resume=value)

    def setMaxRestarts(self, value: int) -> Self:
        """How often the training is submitted again when workers were lost in all attempts that Spark makes."""
        return self.setParams(maxRestarts=value)
