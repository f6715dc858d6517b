"""What the tests of Python and the end-to-end tests share."""

from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
import pytest


@pytest.fixture
def digits_folder(tmp_path) -> Path:
    """A folder with a few digits where the documents have MNIST: of each class one row of pixels is bright."""
    random = numpy.random.default_rng(1)
    for split, count in (("train", 480), ("test", 60)):
        labels = numpy.arange(count) % 10
        images = random.integers(0, 60, (count, 28, 28)).astype("uint8")
        images[numpy.arange(count), 2 * labels + 4] += 150
        path = tmp_path / "build" / "data" / "mnist" / split
        path.mkdir(parents=True)
        rows = {"image": [image.tobytes() for image in images], "label": labels.astype("int32")}
        pyarrow.parquet.write_table(pyarrow.table(rows), path / "part.parquet")
    return tmp_path
