"""The session of peers that are Spark itself: no page, no progress bar."""

from pyspark.sql import SparkSession


def session(cores: int = 1, memory: str = "1g") -> SparkSession:
    return (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", memory)
        .getOrCreate()
    )
