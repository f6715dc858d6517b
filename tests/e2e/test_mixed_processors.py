"""Executors on processors of different kinds, as one of them is told that it has no vector instructions beyond those of
every processor: all compute with what the least of them has."""

import os
import shutil
from pathlib import Path

import pytest
from driver_process import DriverProcess


def has_avx2() -> bool:
    return " avx2 " in Path("/proc/cpuinfo").read_text()


def java_with_less_on_one_executor(folder: Path) -> Path:
    """A Java home of which one executor's JVM gets a limit in its environment."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    own = f"{os.environ['JAVA_HOME']}/bin/java" if "JAVA_HOME" in os.environ else shutil.which("java")
    limit = 'case "$*" in *"--executor-id 1 "*) export BLOOMERY_INSTRUCTIONS=baseline ;; esac'
    java.write_text(f'#!/bin/sh\n{limit}\nexec "{own}" "$@"\n')
    java.chmod(0o755)
    return folder


@pytest.mark.skipif(not has_avx2(), reason="this processor has no AVX2, and so nothing to leave out")
@pytest.mark.timeout(600)
def test_all_compute_with_what_the_least_has_and_the_user_is_told(tmp_path):
    java = java_with_less_on_one_executor(tmp_path / "java")
    conf = {"spark.executorEnv.JAVA_HOME": str(java)}
    driver = DriverProcess(tmp_path / "driver", conf=conf, checkpointPath=str(tmp_path / "checkpoints"), epochs=1)
    try:
        result = driver.result(300)
    finally:
        driver.close()
    assert "error" not in result, result
    [told] = [event for event in result["events"] if event.startswith("Not all workers have AVX")]
    assert told.endswith("has baseline. All are to compute with that")
    state = next((tmp_path / "checkpoints").glob("epoch-*/state.safetensors")).read_bytes()
    assert rb"\"instructions\":\"baseline\"" in state
