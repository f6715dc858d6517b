"""Petastorm's make_batch_reader over a Parquet folder. Answers lines "run SECONDS" as competitor.py says."""

import argparse
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import petastorm  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
options = parser.parse_args()
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def read() -> int:
    with petastorm.make_batch_reader(
        options.data.resolve().as_uri(),
        reader_pool_type="thread",
        workers_count=1,
        shuffle_row_groups=False,
        num_epochs=1,
    ) as reader:
        return sum(len(batch.label) for batch in reader)


for line in sys.stdin:
    seconds = float(line.split()[1])
    rows, start = 0, time.perf_counter()
    while rows == 0 or time.perf_counter() - start < seconds:
        rows += read()
    speed = rows / (time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    settings = f"petastorm {petastorm.__version__}, make_batch_reader, one worker thread"
    answers.write(json.dumps({"samplesPerSecond": speed, "peakBytes": peak, "settings": settings}) + "\n")
    answers.flush()
