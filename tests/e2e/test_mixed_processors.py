"""Executors on processors of different kinds, as one of them is told that it has no vector instructions beyond those of
every processor: all compute with what the least of them has."""

import pytest
from driver_process import DriverProcess
from java_home import java_home

# One executor's JVM has a limit in its environment.
LESS_ON_ONE = """
case "$*" in *"--executor-id 1 "*) export BLOOMERY_INSTRUCTIONS=baseline ;; esac
exec "$JAVA" "$@"
"""


@pytest.mark.timeout(600)
def test_all_compute_with_what_the_least_has_and_the_user_is_told(tmp_path):
    conf = {"spark.executorEnv.JAVA_HOME": str(java_home(tmp_path / "java", LESS_ON_ONE))}
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
