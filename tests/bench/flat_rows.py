"""MNIST and flights with all that a network takes in one array of floats, which is all that MLlib's networks take."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 4
PIXELS = 784
SEED = 1


@dataclass(frozen=True)
class Source:
    """A data set under build/data."""

    folder: str
    features: str  # bytes of an image, or floats
    label: str


SOURCES = {"mnist": Source("mnist", "image", "label"), "flights": Source("flights", "features", "late")}


def floats(column: pa.ChunkedArray) -> np.ndarray:
    """[rows, features]"""
    values = column.combine_chunks()
    if pa.types.is_binary(values.type):
        images = np.frombuffer(b"".join(values.to_pylist()), np.uint8).reshape(-1, PIXELS)
        return images.astype(np.float32) / 255
    return values.flatten().to_numpy().reshape(len(values), -1)


def part(folder: Path, source: Source, share: float, is_test: bool) -> pa.Table:
    """So many of the rows, in an order of their own."""
    table = pq.read_table(folder, columns=[source.features, source.label])
    order = np.random.default_rng(SEED).permutation(table.num_rows)[: round(share * table.num_rows)]
    table = table.take(order)
    features = floats(table[source.features])
    offsets = np.arange(0, features.size + 1, features.shape[1], np.int32)
    return pa.table(
        {
            "features": pa.ListArray.from_arrays(offsets, features.ravel()),
            "label": table[source.label].cast(pa.int32()),
            "isTest": np.full(table.num_rows, is_test),
        }
    )


def flat_rows(data: Path, folder: Path, name: str, rows: int | None) -> Path:
    """Parquet files with the columns features, label and isTest; of the training rows so many (None: all), of the test
    rows the same share. Made once."""
    source = SOURCES[name]
    train = data / source.folder / "train"
    all_rows = sum(pq.read_metadata(file).num_rows for file in train.glob("*.parquet"))
    rows = min(rows or all_rows, all_rows)
    target = folder / f"{name}-flat-{rows}"
    if not target.exists():
        unfinished = target.with_name(f"{target.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for split in ("train", "test"):
            table = part(data / source.folder / split, source, rows / all_rows, split == "test")
            count = -(-table.num_rows // FILES)
            for i in range(FILES):
                pq.write_table(table.slice(i * count, count), unfinished / f"{split}-{i}.parquet")
        unfinished.rename(target)
    return target
