"""Writes random rows of any shape as Parquet, a row group at a time; datasets/generate calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from dataset import make, parser, part

WHOLE = {"byte": np.int8, "short": np.int16, "int": np.int32, "long": np.int64}
FLOATING = {"float": np.float32, "double": np.float64}
OTHER = {
    **{"boolean": pa.bool_(), "binary": pa.binary(), "string": pa.string()},
    **{"date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC")},
}
TYPES = (*WHOLE, *FLOATING, *OTHER)
COLUMN = re.compile(r"(?P<name>\w+):(?P<type>\w+)(\*(?P<size>\d+))?(<(?P<limit>\d+))?(\?(?P<nulls>0?\.\d+))?")
DAYS = 20000  # since 1970
# Rows whose values are drawn together: their number decides the values, so it is fixed.
BLOCK = 1000


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    size: int | None  # elements of an array, bytes or letters
    limit: int | None
    nulls: float

    @staticmethod
    def parse(text: str) -> Column:
        match = COLUMN.fullmatch(text)
        if not match:
            raise SystemExit(f"generate: not a column; write NAME:TYPE, NAME:TYPE*N or NAME:TYPE<LIMIT: {text}")
        if match["type"] not in TYPES:
            raise SystemExit(f"generate: unknown type: {match['type']}, known: {', '.join(TYPES)}")
        size, limit = (int(match[key]) if match[key] else None for key in ("size", "limit"))
        if limit is not None and match["type"] not in WHOLE:
            raise SystemExit(f"generate: only whole numbers take a limit: {text}")
        return Column(match["name"], match["type"], size, limit, float(match["nulls"] or 0))

    def is_text(self) -> bool:
        return self.type in ("binary", "string")

    def values(self, count: int, random: np.random.Generator) -> pa.Array:
        """Numbers without the arrays around them."""
        if self.type in FLOATING:
            return pa.array(random.standard_normal(count, FLOATING[self.type]))
        if self.type in WHOLE:
            whole = WHOLE[self.type]
            return pa.array(random.integers(self.limit or np.iinfo(whole).max, size=count, dtype=whole))
        if self.type == "boolean":
            return pa.array(random.integers(2, size=count, dtype=np.uint8).astype(bool))
        whole, limit = (np.int32, DAYS) if self.type == "date" else (np.int64, DAYS * 86400 * 10**6)
        return pa.array(random.integers(limit, size=count, dtype=whole)).cast(OTHER[self.type])

    def texts(self, rows: int, random: np.random.Generator) -> pa.Array:
        size = self.size or 8
        low, high = (97, 123) if self.type == "string" else (0, 256)
        content = random.integers(low, high, size=rows * size, dtype=np.uint8)
        offsets = np.arange(0, rows * size + 1, size, np.int32)
        return pa.Array.from_buffers(OTHER[self.type], rows, [None, pa.py_buffer(offsets), pa.py_buffer(content)])

    def block(self, rows: int, random: np.random.Generator) -> pa.Array:
        if self.is_text():
            made = self.texts(rows, random)
        elif self.size is None:
            made = self.values(rows, random)
        else:
            offsets = np.arange(0, rows * self.size + 1, self.size, np.int32)
            made = pa.ListArray.from_arrays(offsets, self.values(rows * self.size, random))
        if not self.nulls:
            return made
        return pc.if_else(pa.array(random.random(rows) < self.nulls), pa.scalar(None, made.type), made)


def blocks(columns: list[Column], seed: int, first: int, end: int) -> Iterator[pa.RecordBatch]:
    """The rows first to end, in pieces of the blocks they lie in."""
    for number in range(first // BLOCK, -(-end // BLOCK)):
        arrays = [
            column.block(BLOCK, np.random.default_rng((seed, index, number))) for index, column in enumerate(columns)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])
        start = max(first - number * BLOCK, 0)
        yield batch.slice(start, min(end - number * BLOCK, BLOCK) - start)


def main() -> None:
    options = parser(__file__)
    options.add_argument("--rows", type=int, required=True)
    options.add_argument("--columns", default="features:float*100,label:int<10")
    options.add_argument("--files", type=int, default=1)
    options.add_argument("--group-rows", type=int, default=10000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--compression", default="snappy")
    options = options.parse_args()
    columns = [Column.parse(text) for text in options.columns.split(",")]

    def write(output: Path) -> None:
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("part-*.parquet"):
            old.unlink()
        ends = [options.rows * (file + 1) // options.files for file in range(options.files)]
        for file, (first, end) in enumerate(zip([0, *ends], ends, strict=False)):
            schema = pa.schema([(column.name, column.block(1, np.random.default_rng(0)).type) for column in columns])
            with pq.ParquetWriter(part(output, file), schema, compression=options.compression) as writer:
                for start in range(first, end, options.group_rows):
                    group = list(blocks(columns, options.seed, start, min(start + options.group_rows, end)))
                    writer.write_table(pa.Table.from_batches(group), row_group_size=options.group_rows)

    shape = f"{options.rows} rows of {options.columns}, {options.files} files, groups of {options.group_rows}"
    make(options.output, f"random numbers 1: {shape}, {options.compression}, seed {options.seed}", write)


if __name__ == "__main__":
    main()
