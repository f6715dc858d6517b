"""Python functions that are told of every epoch, called by the JVM while the workers wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

Callback = Callable[[dict[str, Any]], Any]


class Callbacks:
    """The functions as one callback of the JVM. An exception of theirs is kept: Java would show its text alone."""

    def __init__(self, functions: Iterable[Callback]) -> None:
        self._functions = list(functions)
        self.error: BaseException | None = None
        from pyspark import SparkContext  # which a client of Spark Connect need not have
        from pyspark.java_gateway import ensure_callback_server_started

        context = SparkContext._active_spark_context
        assert context is not None
        ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]

    def afterEpoch(self, record: JavaObject) -> bool:
        """Whether one of them, told of the epoch as `model.summary.history` has it, wants to stop."""
        try:
            epoch = json.loads(record.json())
            return any([bool(function(epoch)) for function in self._functions])
        except BaseException as error:
            self.error = error
            raise

    class Java:
        """What py4j looks for."""

        implements: ClassVar[list[str]] = ["io.bloomery.EpochCallback"]
