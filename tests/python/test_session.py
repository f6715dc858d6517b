"""Finding the jar and telling when it is missing."""

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

import bloomery


def test_jar_is_the_one_named_by_the_environment(monkeypatch, tmp_path):
    file = tmp_path / "some.jar"
    file.touch()
    monkeypatch.setenv("BLOOMERY_JAR", str(file))
    assert bloomery.jar() == str(file)


def test_missing_jar_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("BLOOMERY_JAR", str(tmp_path / "none.jar"))
    with pytest.raises(FileNotFoundError, match=r"BLOOMERY_JAR names no file: .*none\.jar"):
        bloomery.jar()
    monkeypatch.delenv("BLOOMERY_JAR")
    with pytest.raises(FileNotFoundError, match="carries no jar"):
        bloomery.jar()


def test_configure_keeps_other_jars(monkeypatch, tmp_path):
    file = tmp_path / "ours.jar"
    file.touch()
    monkeypatch.setenv("BLOOMERY_JAR", str(file))
    builder = SparkSession.Builder().config("spark.jars", "other.jar")
    assert bloomery.configure(bloomery.configure(builder))._options["spark.jars"] == f"other.jar,{file}"


def test_session_builder_has_the_jar(monkeypatch, tmp_path):
    file = tmp_path / "ours.jar"
    file.touch()
    monkeypatch.setenv("BLOOMERY_JAR", str(file))
    builder = bloomery.spark_session_builder().master("local[1]")
    assert builder._options == {"spark.jars": str(file), "spark.master": "local[1]"}
    assert bloomery.spark_session_builder()._options == {"spark.jars": str(file)}  # each one anew


@pytest.fixture
def remote(monkeypatch):
    """What a session of SparkSession.builder.remote(...) sets; tests/e2e has a real one."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


NETWORK = bloomery.Sequential(bloomery.layers.Input(2), bloomery.layers.Dense(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: bloomery.NeuralNetClassifier(callbacks=print),
        lambda: bloomery.NeuralNetClassifier(initialModel=bloomery.NeuralNetModel()),
        lambda: bloomery.NeuralNetClassifier().describe(None),
        lambda: bloomery.NeuralNetModel.of(NETWORK, b""),
        lambda: bloomery.NeuralNetModel().weights(),
        lambda: bloomery.NeuralNetModel().evaluate(None),
        lambda: bloomery.NeuralNetModel().network,
        NETWORK.summary,
    ],
)
def test_what_spark_connect_does_not_reach_is_told_in_one_sentence(remote, call):
    with pytest.raises(bloomery.BloomeryError, match=r"^Spark Connect does not let a client reach [^\n]+: [^\n]+$"):
        call()


def test_estimator_over_spark_connect_is_its_name_and_params(remote):
    estimator = bloomery.NeuralNetRegressor(network=NETWORK, num_workers=3)
    assert estimator._java_obj == "io.bloomery.NeuralNetRegressor"
    assert (estimator.getNumWorkers(), estimator.getVerbose(), estimator.getLoss()) == (3, 1, "mean_squared_error")
    estimator.clear(estimator.numWorkers)
    assert estimator.getNumWorkers() == 1


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("pass", "No Spark session is running in this process"),
        (
            "SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()",
            "set the conf spark.jars to bloomery.jar()",
        ),
    ],
)
def test_missing_session_or_classes_is_one_sentence(start, sentence):
    program = f"""
import bloomery
from pyspark.sql import SparkSession
{start}
try:
    bloomery.NeuralNetClassifier(epochs=1)
except bloomery.BloomeryError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert sentence in result.stdout, result.stderr
