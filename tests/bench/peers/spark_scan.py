"""Spark's own reader alone, row by row into a sink that keeps nothing: what a path through Spark's rows costs before
anybody has touched a value. Answers lines "run SECONDS" as competitor.py says."""

import argparse

from local_spark import session
from reading import answer

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
options = parser.parse_args()

spark = session()
data = spark.read.parquet(options.data)
rows = data.count()


def read() -> int:
    data.write.format("noop").mode("overwrite").save()
    return rows


answer(read, f"Spark {spark.version}, local[1], noop sink", is_alone=False)
