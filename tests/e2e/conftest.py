"""A Spark of two executor processes on this machine, as a cluster has them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pyspark
import pytest
from java_home import java_home
from pyspark.sql import DataFrame, SparkSession

import bloomery

LOG4J = Path(__file__).resolve().parents[2] / "examples" / "log4j2.properties"


def java_with_own_clock(folder: Path) -> Path | None:
    """A Java home whose JVMs count monotonic time each from another moment, as machines do; None: not possible here."""
    shift = ["unshare", "--time", "--monotonic"]
    if not shutil.which("unshare") or subprocess.run([*shift, "60", "true"], capture_output=True).returncode != 0:
        return None
    # Neighbours in the list of processes are minutes apart.
    return java_home(folder, f'exec {" ".join(shift)} $(($$ % 1000 * 60 + 60)) "$JAVA" "$@"')


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    os.environ.setdefault("SPARK_HOME", pyspark.__path__[0])
    quiet = f"-Dlog4j2.configurationFile=file:{LOG4J}"
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("e2e")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", quiet)
        .config("spark.executor.extraJavaOptions", quiet)
    )
    if java := java_with_own_clock(tmp_path_factory.mktemp("java")):
        builder = builder.config("spark.executorEnv.JAVA_HOME", str(java))
    session = bloomery.configure(builder).getOrCreate()
    application = session.sparkContext.applicationId
    yield session
    session.stop()
    shutil.rmtree(Path(os.environ["SPARK_HOME"]) / "work" / application)  # each executor had its copy of the jar


@pytest.fixture(scope="session")
def digits(spark) -> DataFrame:
    """Images of 8x8 bytes on 7 partitions, each with one bright quarter that tells its class."""
    random = numpy.random.default_rng(3)
    labels = numpy.arange(2000) % 4
    images = random.integers(0, 100, (2000, 2, 4, 2, 4), dtype=numpy.uint8)
    for image, label in zip(images, labels, strict=True):
        image[label // 2, :, label % 2, :] += 100
    rows = [(bytearray(image.tobytes()), int(label)) for image, label in zip(images, labels, strict=True)]
    return spark.createDataFrame(rows, "image binary, label int").repartition(7).persist()


def alive_on_executors(spark) -> list[dict[str, int]]:
    """What is alive in the executors' JVMs, asked by enough tasks to reach both: empty when nothing is."""
    answers = spark.range(0, 8, 1, 8).selectExpr("java_method('io.bloomery.Diagnostics', 'liveResources') AS alive")
    counts = [json.loads(row.alive) for row in answers.collect()]
    return [answer for answer in counts if any(answer.values())]
