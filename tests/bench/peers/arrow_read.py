"""Plain Parquet C++ on one thread, decoding a folder's columns into Arrow's memory. Answers lines "run SECONDS" as
competitor.py says."""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
parser.add_argument("--columns", default="features,label")
options = parser.parse_args()
pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def read() -> int:
    rows = 0
    for file in sorted(options.data.glob("*.parquet")):
        with pq.ParquetFile(file, memory_map=True) as opened:
            for group in range(opened.num_row_groups):
                rows += opened.read_row_group(group, columns=options.columns.split(","), use_threads=False).num_rows
    return rows


for line in sys.stdin:
    seconds = float(line.split()[1])
    rows, start = 0, time.perf_counter()
    while rows == 0 or time.perf_counter() - start < seconds:
        rows += read()
    speed = rows / (time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    settings = f"Arrow C++ {pa.cpp_version}, one thread, memory map, row group by row group"
    print(json.dumps({"samplesPerSecond": speed, "peakBytes": peak, "settings": settings}), flush=True)
