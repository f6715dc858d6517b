"""The way to the classes in Spark's JVM, with one clear sentence when there is none."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.utils import is_remote

from bloomery.errors import BloomeryError, translated

__all__ = ["describe", "is_remote", "java_class", "needs_frame", "out_of_reach"]


def out_of_reach(what: str, instead: str) -> BloomeryError:
    """What there is to say where Spark's JVM is a server's, and the server does not answer this."""
    return BloomeryError(f"Spark Connect does not let a client reach {what}: {instead}")


def needs_frame(dataset: Any) -> None:
    """Raises for what is no DataFrame of Spark, such as one of pandas."""
    if not isinstance(dataset, DataFrame):
        kind = f"{type(dataset).__module__}.{type(dataset).__qualname__}"
        raise TypeError(
            f"A DataFrame of Spark is wanted: spark.createDataFrame makes one of rows or pandas, not {kind}"
        )


def java_class(name: str) -> Any:
    """The JVM's class of this full name."""
    if is_remote():
        raise out_of_reach(name, "use a session of bloomery.spark_session_builder().master(...), or spark-submit")
    # A client of Spark Connect need not have either.
    from py4j.java_gateway import JavaClass
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        raise BloomeryError(
            "No Spark session is running in this process: start one with"
            " bloomery.configure(SparkSession.builder).getOrCreate()"
        )
    found: Any = context._jvm
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, JavaClass):
        raise BloomeryError(
            "Spark's JVM does not have Bloomery's classes: set the conf spark.jars to bloomery.jar()"
            " before the session starts, as bloomery.configure(SparkSession.builder) does"
        )
    return found


def describe(network_json: str) -> dict[str, Any]:
    """The engine's description of a network."""
    if is_remote():
        raise out_of_reach(
            "the engine, which describes networks",
            "fit says what is wrong with one before it reads a row; describe it in a session of"
            " bloomery.spark_session_builder().master(...)",
        )
    with translated():
        text = java_class("io.bloomery.engine.Engine").describe(f'{{"network": {network_json}}}').json()
    described: dict[str, Any] = json.loads(text)
    return described
