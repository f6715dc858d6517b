"""A data set's rows in random order, as somebody would write them who trains on them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

SEED = 1
ROWS_PER_GROUP = 50_000


def shuffled_rows(source: Path, target: Path) -> Path:
    """The same rows in as many files. Made once."""
    if not target.exists():
        files = sorted(source.glob("*.parquet"))
        table = pq.read_table(source)
        table = table.take(np.random.default_rng(SEED).permutation(table.num_rows))
        unfinished = target.with_name(f"{target.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        rows = -(-table.num_rows // len(files))
        for i, file in enumerate(files):
            pq.write_table(table.slice(i * rows, rows), unfinished / file.name, row_group_size=ROWS_PER_GROUP)
        unfinished.rename(target)
    return target
