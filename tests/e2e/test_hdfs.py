"""A fit on files of a real HDFS of two data nodes, read by the engine itself on two executors."""

import subprocess
from pathlib import Path

import pytest
from conftest import alive_on_executors
from test_local_cluster import classifier

MINIHDFS = Path(__file__).resolve().parents[2] / "scripts" / "minihdfs"


def minihdfs(command: str) -> str:
    return subprocess.run([MINIHDFS, command, "e2e"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def hdfs():
    yield minihdfs("start")
    minihdfs("stop")


@pytest.mark.timeout(300)
def test_engine_reads_hdfs_on_two_executors(spark, digits, hdfs):
    path = f"{hdfs}/digits"
    digits.write.parquet(path)
    model = classifier(batchSize=16, epochs=4, seed=2).fitOnParquet(path)
    assert model.summary.input == "parquet: 2000 rows in 7 row groups of 7 files"
    assert [epoch["samples"] for epoch in model.summary.history] == [2000] * 4
    assert model.summary.history[-1]["metrics"]["accuracy"] > 0.95
    assert alive_on_executors(spark) == []


@pytest.mark.timeout(300)
def test_minihdfs_starts_once_and_forgets_when_stopped(hdfs):
    assert minihdfs("start") == hdfs == minihdfs("status")
    assert subprocess.run([MINIHDFS, "status", "another"], capture_output=True).returncode == 1
