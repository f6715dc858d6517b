"""Spark handing a Parquet folder to a Python worker, by mapInArrow. Answers lines "run SECONDS" as competitor.py
says."""

import argparse
import json
import os
import sys
import time

import pyarrow as pa
from pyspark.sql import SparkSession

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
options = parser.parse_args()


def count(batches):
    """Every batch arrives; nothing is done with it."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": [rows]})


os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
data = spark.read.parquet(options.data)
settings = f"Spark {spark.version}, local[1], pyarrow {pa.__version__}, batches of Spark's default size"
for line in sys.stdin:
    seconds = float(line.split()[1])
    rows, start = 0, time.perf_counter()
    while rows == 0 or time.perf_counter() - start < seconds:
        rows += sum(row.rows for row in data.mapInArrow(count, "rows long").collect())
    speed = rows / (time.perf_counter() - start)
    answers.write(json.dumps({"samplesPerSecond": speed, "settings": settings}) + "\n")
    answers.flush()
