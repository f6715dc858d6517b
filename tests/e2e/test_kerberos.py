"""Fits on a Kerberos-secured HDFS, on two executors that have a delegation token."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_hdfs import MINIHDFS

HERE = Path(__file__).parent
NAME = "e2e-kerberos"


def minihdfs(command: str) -> str:
    done = subprocess.run([MINIHDFS, command, NAME, "--kerberos"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def secured():
    yield minihdfs("start")
    minihdfs("stop")


@pytest.mark.timeout(600)
def test_every_path_reads_a_secured_hdfs_on_two_executors(secured):
    folder = MINIHDFS.parents[1] / "build" / "minihdfs" / NAME
    program = [sys.executable, str(HERE / "kerberos_fit.py"), "--url", secured, "--folder", str(folder)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["secure"] == ["true"]
    assert told["user"] == "trainer"
    assert told["fits"]["parquet"]["input"] == "parquet: 600 rows in 4 row groups of 4 files"
    for way, fit in told["fits"].items():
        assert fit["input"].startswith(way)
        assert fit["samples"] == 600
        assert fit["accuracy"] > 0.9


@pytest.mark.timeout(300)
def test_who_proves_nothing_is_refused(spark, secured):
    with pytest.raises(Exception, match="SIMPLE authentication is not enabled"):
        spark.read.parquet(f"{secured}/numbers")
