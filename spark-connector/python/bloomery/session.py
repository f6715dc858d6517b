"""Where Bloomery's jar is and how a Spark session gets it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jar() -> str:
    """The path of the jar: the one that BLOOMERY_JAR names, or else the one inside this package."""
    named = os.environ.get("BLOOMERY_JAR")
    if named:
        if not Path(named).is_file():
            raise FileNotFoundError(f"BLOOMERY_JAR names no file: {named}")
        return named
    found = sorted((Path(__file__).parent / "jars").glob("*.jar"))
    if not found:
        raise FileNotFoundError(
            "This copy of bloomery carries no jar: install the wheel, or set BLOOMERY_JAR to the jar that was built"
        )
    return str(found[-1])


def spark_session_builder() -> SparkSession.Builder:
    """A builder of a Spark session that has the jar: add a master, and whatever else the session needs.

    >>> spark = bloomery.spark_session_builder().master("local[2]").getOrCreate()
    """
    from pyspark.sql import SparkSession

    return configure(SparkSession.Builder())


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds the jar to a session that is to be built; jars that the builder has already stay.

    >>> spark = bloomery.configure(SparkSession.builder.master("local[2]")).getOrCreate()
    """
    others = [path for path in builder._options.get("spark.jars", "").split(",") if path and path != jar()]
    return builder.config("spark.jars", ",".join([*others, jar()]))
