"""Images and labels in IDX files, the format of MNIST and of those that follow it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from dataset import images, write_parts

# Prefix of the files, number of rows, number of Parquet files.
SPLITS = {"train": ("train", 60000, 4), "test": ("t10k", 10000, 2)}


def decode(name: str, content: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """An IDX file of bytes: two zeros, the type (8), the number of dimensions, the dimensions, the values."""
    dimensions = tuple(np.frombuffer(content, ">i4", content[3], offset=4).tolist())
    if content[:3] != b"\0\0\x08" or dimensions != shape:
        sys.exit(f"not the file expected: {name}, dimensions {dimensions}, expected {shape}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)


def write(read: Callable[[str], bytes], output: Path) -> None:
    """`read` gives the content of a file by its name."""
    for split, (prefix, rows, files) in SPLITS.items():
        names = f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"
        pixels = decode(names[0], read(names[0]), (rows, 28, 28)).reshape(rows, 784)
        labels = decode(names[1], read(names[1]), (rows,))
        write_parts(output / split, images([image.tobytes() for image in pixels], labels), files)
