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


def test_spark_connect_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # as a session of SparkSession.builder.remote(...) sets it
    with pytest.raises(bloomery.BloomeryError, match=r"does not work over Spark Connect.*spark_session_builder"):
        bloomery.NeuralNetClassifier(epochs=1)


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
