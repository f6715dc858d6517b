"""Spark handing a Parquet folder to a Python worker, by mapInArrow. Answers lines "run SECONDS" as competitor.py
says."""

import argparse
import os
import sys

import pyarrow as pa
from local_spark import session
from reading import answer

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
options = parser.parse_args()


def count(batches):
    """Every batch arrives; nothing is done with it."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": [rows]})


os.environ["PYSPARK_PYTHON"] = sys.executable
spark = session()
data = spark.read.parquet(options.data)
answer(
    lambda: sum(row.rows for row in data.mapInArrow(count, "rows long").collect()),
    f"Spark {spark.version}, local[1], pyarrow {pa.__version__}, batches of Spark's default size",
    is_alone=False,
)
