"""The data sets that come from package registries: their shapes and a few values that tell them from others."""

import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


def made(name: str) -> Path:
    subprocess.run([ROOT / "datasets" / name], check=True)
    return ROOT / "build" / "data" / name


@pytest.mark.parametrize(
    ("name", "train", "bytes_of_a_row"),
    [("mnist", 60000, 784), ("fashion-mnist", 60000, 784), ("cifar10", 50000, 3072)],
)
def test_images_have_ten_classes_and_their_shape(name, train, bytes_of_a_row):
    for split, rows in (("train", train), ("test", 10000)):
        table = pq.read_table(made(name) / split)
        assert table.num_rows == rows
        assert {len(image) for image in table["image"].to_pylist()} == {bytes_of_a_row}
        counts = np.bincount(table["label"].to_numpy(), minlength=10)
        assert len(counts) == 10 and counts.min() > 0.08 * rows


def test_images_of_a_class_are_alike():
    """The nearest mean of a class: far above the tenth that wrong labels, or pixels in a wrong order, would give."""
    for name, least in (("fashion-mnist", 0.6), ("cifar10", 0.25)):
        tables = [pq.read_table(made(name) / split) for split in ("train", "test")]
        (known, labels), (asked, wanted) = (
            (np.stack([np.frombuffer(image, np.uint8) for image in table["image"].to_pylist()[:5000]]), table["label"])
            for table in tables
        )
        labels, wanted = labels.to_numpy()[:5000], wanted.to_numpy()[:5000]
        means = np.stack([known[labels == label].mean(axis=0) for label in range(10)])
        distances = ((asked[:, None].astype(np.float32) - means) ** 2).sum(axis=2)
        assert (distances.argmin(axis=1) == wanted).mean() > least


def test_flights_are_split_and_late_follows_from_delay():
    tables = {split: pq.read_table(made("flights") / split) for split in ("train", "test")}
    assert {split: table.num_rows for split, table in tables.items()} == {"train": 2700000, "test": 300000}
    for table in tables.values():
        delay, late = table["delay"].to_numpy(), table["late"].to_numpy()
        assert ((delay >= 15) == late).all() and 0.15 < late.mean() < 0.35
        features = table["features"].combine_chunks()
        assert np.unique(np.diff(features.offsets)).tolist() == [8] and np.abs(features.values.to_numpy()).max() < 4
        minute = table["minute"].to_numpy()
        assert late[minute > 1080].mean() > 1.3 * late[minute < 540].mean(), "evenings are later than mornings"


def test_the_sun_is_predictable():
    tables = {split: pq.read_table(made("solar") / split) for split in ("train", "test")}
    assert sum(table.num_rows for table in tables.values()) == 6 * (8760 - 50)
    features, hours = {}, {}
    for split, table in tables.items():
        features[split] = table["features"].combine_chunks().values.to_numpy().reshape(-1, 50)
        hours[split] = table["irradiance"].to_numpy()
    weights = np.linalg.lstsq(features["train"], hours["train"], rcond=None)[0]
    error = np.abs(features["test"] @ weights - hours["test"]).mean()
    persistence = np.abs(features["test"][:, -1] - hours["test"]).mean()
    assert error < 0.8 * persistence
