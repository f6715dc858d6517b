"""What the programs of all data sets do alike: read their options, work once, write Parquet."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 5000
IMAGES = pa.schema([pa.field("image", pa.binary(), nullable=False), pa.field("label", pa.int32(), nullable=False)])


def parser(program: str) -> argparse.ArgumentParser:
    """The options of every data set. What they mean to a user stands in the shell program in front."""
    options = argparse.ArgumentParser(prog=f"datasets/{Path(program).stem.replace('_', '-')}", add_help=False)
    options.add_argument("--output", type=Path, required=True)
    return options


def package_parser(program: str) -> argparse.ArgumentParser:
    options = parser(program)
    options.add_argument("--package", required=True)  # NAME@VERSION
    options.add_argument("--sha256", required=True)
    return options


def make(output: Path, source: str, write: Callable[[Path], None]) -> None:
    """Has `write` fill the folder, unless it already holds what `source` says."""
    done = output / "_source"  # Spark skips names that start with an underscore
    if done.exists() and done.read_text() == f"{source}\n":
        return
    print(f"{output.name}: making {output} from {source}", file=sys.stderr)
    done.unlink(missing_ok=True)
    write(output)
    done.write_text(f"{source}\n")


def empty_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def part(folder: Path, index: int) -> Path:
    return folder / f"part-{index:05d}.parquet"


def write_parts(folder: Path, table: pa.Table, files: int, rows_per_group: int = ROWS_PER_GROUP) -> None:
    """Splits the rows evenly over the files, in their order."""
    empty_folder(folder)
    ends = [table.num_rows * (index + 1) // files for index in range(files)]
    for index, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        pq.write_table(table.slice(start, end - start), part(folder, index), row_group_size=rows_per_group)


def images(pixels: list[bytes], labels: object) -> pa.Table:
    return pa.table([pixels, pa.array(labels, pa.int32())], schema=IMAGES)
