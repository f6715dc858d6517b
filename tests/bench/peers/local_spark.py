"""The session of peers that are Spark itself: one core, no page, no progress bar."""

from pyspark.sql import SparkSession


def session() -> SparkSession:
    return (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
