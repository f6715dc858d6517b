"""One Spark session for all tests of this folder, and small data that any network learns in a second."""

import json
import time
from pathlib import Path

import numpy
import pytest
from pyspark.sql import DataFrame, SparkSession

import bloomery
from bloomery import NeuralNetClassifier, Sequential
from bloomery import layers as L

LOG4J = Path(__file__).resolve().parents[2] / "examples" / "log4j2.properties"


@pytest.fixture(scope="session")
def spark():
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{LOG4J}")
    )
    session = bloomery.configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def blobs(spark) -> DataFrame:
    """Three clouds of points on 3 partitions: features (array of floats), label (int), held (every fifth row)."""
    random = numpy.random.default_rng(7)
    labels = numpy.arange(600) % 3
    centres = numpy.array([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]])
    points = (centres[labels] + random.normal(0, 0.3, (600, 4))).astype("float32")
    rows = [
        (point.tolist(), int(label), i % 5 == 0) for i, (point, label) in enumerate(zip(points, labels, strict=True))
    ]
    frame = spark.createDataFrame(rows, "features array<float>, label int, held boolean").repartition(3).persist()
    assert frame.count() == 600
    return frame


def small_network(classes: int = 3) -> Sequential:
    return Sequential(L.Input(4), L.Dense(16, "relu"), L.Dense(classes, "softmax"), name="small")


def classifier(**params) -> NeuralNetClassifier:
    defaults = {
        "network": small_network(),
        "optimizer": "adam",
        "learningRate": 0.01,
        "metrics": ["accuracy"],
        "batchSize": 16,
        "epochs": 5,
        "numWorkers": 2,
        "seed": 1,
        "verbose": 0,
    }
    return NeuralNetClassifier(**{**defaults, **params})


@pytest.fixture(scope="session")
def model(blobs):
    return classifier(validationIndicatorCol="held").fit(blobs)


def assert_nothing_is_alive(spark) -> None:
    """In the driver's JVM, where in local mode the executors are too.

    Tasks may still be closing when the driver already knows how the job ended: they have two seconds.
    """
    deadline = time.monotonic() + 2
    while alive := _live_resources(spark):
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


def _live_resources(spark) -> dict[str, int]:
    counts = json.loads(spark.sparkContext._jvm.io.bloomery.Diagnostics.liveResources())
    return {name: count for name, count in counts.items() if count != 0}
