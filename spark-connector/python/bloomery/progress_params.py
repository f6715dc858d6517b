"""The params of how a fit is shown, under the names and with the documentation of the JVM's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.ml.param import Param, Params, TypeConverters

from bloomery.params import Settable, whole_number

if TYPE_CHECKING:
    from typing_extensions import Self


class ProgressParams(Settable):
    """How a fit is shown while it runs."""

    _owner = Params._dummy()

    verbose: Param[int] = Param(
        _owner,
        "verbose",
        "0 is quiet, 1 shows progress on the driver's stderr, and in a notebook as a bar",
        whole_number,
    )
    tensorboardDir: Param[str] = Param(
        _owner,
        "tensorboardDir",
        "a folder of any file system that Spark knows, in which each epoch's numbers are written for TensorBoard",
        TypeConverters.toString,
    )
    traceDir: Param[str] = Param(
        _owner,
        "traceDir",
        "a folder of any file system that Spark knows, in which a fit leaves what its workers' threads did, "
        "layer by layer",
        TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(verbose=1)

    def getVerbose(self) -> int:
        """Whether progress is shown."""
        return self.getOrDefault(self.verbose)

    def getTensorboardDir(self) -> str:
        """The folder of the files for TensorBoard."""
        return self.getOrDefault(self.tensorboardDir)

    def getTraceDir(self) -> str:
        """The folder of traces."""
        return self.getOrDefault(self.traceDir)

    def setVerbose(self, value: int) -> Self:
        """0 is quiet, 1 shows progress on the driver's stderr, and in a notebook as a bar."""
        return self.setParams(verbose=value)

    def setTensorboardDir(self, value: str) -> Self:
        """A folder of any file system that Spark knows, in which each epoch's numbers are written for TensorBoard."""
        return self.setParams(tensorboardDir=value)

    def setTraceDir(self, value: str) -> Self:
        """A folder of any file system that Spark knows, in which a fit leaves what its workers' threads did."""
        return self.setParams(traceDir=value)
