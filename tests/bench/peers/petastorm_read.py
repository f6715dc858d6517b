"""Petastorm's make_batch_reader over a Parquet folder. Answers lines "run SECONDS" as competitor.py says."""

import argparse
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import petastorm  # noqa: E402
from reading import answer  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
options = parser.parse_args()


def read() -> int:
    with petastorm.make_batch_reader(
        options.data.resolve().as_uri(),
        reader_pool_type="thread",
        workers_count=1,
        shuffle_row_groups=False,
        num_epochs=1,
    ) as reader:
        return sum(len(batch.label) for batch in reader)


answer(read, f"petastorm {petastorm.__version__}, make_batch_reader, one worker thread")
