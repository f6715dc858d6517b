"""Plain Parquet C++ on one thread, decoding a folder's columns into Arrow memory, letting each row group go before the
next one or keeping them all, in memory that Arrow's allocator had before or in fresh memory of the system. Answers
lines "run SECONDS" as competitor.py says."""

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from reading import answer

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
parser.add_argument("--columns", default="features,label")
parser.add_argument("--keep", action="store_true")
parser.add_argument("--fresh", action="store_true", help="with MALLOC_MMAP_THRESHOLD_ set, so that blocks go back")
options = parser.parse_args()
if options.fresh:
    pa.set_memory_pool(pa.system_memory_pool())
pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def read() -> int:
    rows, kept = 0, []
    for file in sorted(options.data.glob("*.parquet")):
        with pq.ParquetFile(file, memory_map=True) as opened:
            for group in range(opened.num_row_groups):
                table = opened.read_row_group(group, columns=options.columns.split(","), use_threads=False)
                rows += table.num_rows
                if options.keep:
                    kept.append(table)
    return rows


how = ("all kept" if options.keep else "row group by row group") + (", fresh memory" if options.fresh else "")
answer(read, f"Arrow C++ {pa.cpp_version}, one thread, memory map, {how}")
