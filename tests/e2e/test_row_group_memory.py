"""The memory of an executor that reads Parquet files: it does not grow with their row groups."""

import threading
import time
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from driver_process import processes

from bloomery import NeuralNetClassifier, Sequential
from bloomery import layers as L

MEBIBYTE = 1 << 20
WIDTH = 784
ROWS = 680_000  # 512 MB


HEAP_END = 1 << 32  # a heap of a gigabyte lies below, as the JVM's short pointers want it


def bytes_beside_heap(pid: int) -> int:
    """The anonymous memory of a JVM but for its heap, which grows as it pleases."""
    total, counts = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, *values = line.split()
        if not name.endswith(":"):
            counts = int(name.split("-")[0], 16) >= HEAP_END
        elif name == "Anonymous:" and counts:
            total += 1024 * int(values[0])
    return total


class Watch(threading.Thread):
    """The most memory beside its heap that each executor of an application takes while this runs."""

    def __init__(self, application: str):
        super().__init__(daemon=True)
        self._executors = [
            pid
            for pid, words in processes()
            if "CoarseGrainedExecutorBackend" in " ".join(words) and application in words
        ]
        self._ended = threading.Event()
        self.peak = dict.fromkeys(self._executors, 0)

    def run(self) -> None:
        while not self._ended.is_set():
            for pid in self._executors:
                self.peak[pid] = max(self.peak[pid], bytes_beside_heap(pid))
            time.sleep(0.02)

    def end(self) -> dict[int, int]:
        self._ended.set()
        self.join()
        return self.peak


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[int, str]:
    """The same rows in row groups of so many."""
    random = numpy.random.default_rng(1)
    part = 10_000
    images = pyarrow.Array.from_buffers(
        pyarrow.binary(),
        part,
        [
            None,
            pyarrow.py_buffer(numpy.arange(0, part * WIDTH + 1, WIDTH, numpy.int32)),
            pyarrow.py_buffer(random.bytes(part * WIDTH)),
        ],
    )
    labels = pyarrow.array((numpy.arange(part) % 4).astype(numpy.int32))
    rows = pyarrow.concat_tables([pyarrow.table({"image": images, "label": labels})] * (ROWS // part))
    made = {}
    for group in (part, ROWS):
        folder = tmp_path_factory.mktemp(f"groups{group}")
        with pyarrow.parquet.ParquetWriter(
            folder / "rows.parquet", rows.schema, compression="none", use_dictionary=False
        ) as writer:
            writer.write_table(rows, row_group_size=group)
        made[group] = str(folder)
    return made


@pytest.mark.timeout(600)
def test_executor_memory_does_not_grow_with_the_row_groups(spark, folders):
    network = Sequential(
        L.Input(WIDTH, dtype="uint8", scale=1 / 255), L.Dense(4, activation="softmax", kernel_initializer="zeros")
    )
    classifier = NeuralNetClassifier(
        network=network,
        featuresCol="image",
        batchSize=1024,
        epochs=1,
        dataMemory=64 * MEBIBYTE,
        verbose=0,
        numWorkers=1,
    )
    peaks, weights = {}, {}
    # The first one also finds what a JVM takes for itself.
    for group in (min(folders), min(folders), max(folders)):
        watch = Watch(spark.sparkContext.applicationId)
        watch.start()
        model = classifier.fit(spark.read.parquet(folders[group]))
        peaks[group] = watch.end()
        weights[group] = model.weights()
        assert model.summary.input.startswith("parquet: ")
        assert model.summary.history[0]["samples"] == ROWS
    (small, large) = (max(peaks[group].values()) for group in (min(folders), max(folders)))
    assert large - small < 64 * MEBIBYTE, f"{small / MEBIBYTE:.0f} and {large / MEBIBYTE:.0f} MB"
    for name, values in weights[min(folders)].items():
        assert numpy.array_equal(values, weights[max(folders)][name])
