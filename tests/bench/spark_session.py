"""The Spark session of our own programs in the benchmarks, and how they answer "run SECONDS" as competitor.py says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import bloomery

LOG4J = Path(__file__).resolve().parents[2] / "examples" / "log4j2.properties"


def session(cores: int, java: str = "", **settings: str) -> SparkSession:
    """java: more options of the JVM."""
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{LOG4J} {java}")
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    return bloomery.configure(builder).getOrCreate()


def peak_bytes(spark: SparkSession) -> int:
    """Of the JVM, where the engine lives too."""
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0


def answer(spark: SparkSession, settings: str, run: Callable[..., dict]) -> None:
    """Spark and its JVM write to standard output, too: answers go to the one that the program started with."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        result = run(*map(float, line.split()[1:]))
        answers.write(json.dumps({"peakBytes": peak_bytes(spark), "settings": settings, **result}) + "\n")
        answers.flush()
