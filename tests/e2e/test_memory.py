"""A worker in a container that is too small for it says so before it takes any memory: here a real control group."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT = 1500 << 20

PROGRAM = """
import sys
import bloomery
from bloomery import NeuralNetRegressor, Sequential, layers as L

builder = bloomery.spark_session_builder().master("local[1]").config("spark.driver.memory", "512m")
spark = builder.config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(200).selectExpr("float(id % 7) as features", "float(id % 7) as label")
network = Sequential(L.Input(1), L.Dense(1))
for megabytes in (10, 1450):
    try:
        NeuralNetRegressor(network=network, dataMemory=megabytes << 20, verbose=0).fit(rows)
        print("trained with", megabytes)
    except bloomery.ResourceError as error:
        print("refused:", error)
"""


@pytest.fixture
def group():
    """A group of processes that may take LIMIT bytes of memory together, below the one that this process is in."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    old = [path for _, controllers, path in lines if "memory" in controllers.split(",")]
    new = [path for _, controllers, path in lines if not controllers]
    folder, file = (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes") if old else (Path("/sys/fs/cgroup"), "memory.max")
    )
    made = folder / (old or new)[0].lstrip("/") / f"bloomery-test-{os.getpid()}"
    try:
        made.mkdir()
        (made / file).write_text(str(LIMIT))
    except OSError as error:
        if made.exists():
            made.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    yield made
    deadline = time.monotonic() + 20
    while (made / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.1)  # Spark's JVM ends a moment after the program that started it
    made.rmdir()


@pytest.mark.timeout(180)
def test_what_a_container_cannot_hold_is_refused_with_what_to_change(group):
    def enter():
        (group / "cgroup.procs").write_text(str(os.getpid()))

    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], preexec_fn=enter, capture_output=True, text=True, timeout=160
    )
    assert result.returncode == 0, result.stderr[-3000:]
    trained, refused = result.stdout.strip().splitlines()[-2:]
    assert trained == "trained with 10"
    assert refused.startswith(
        "refused: Executor has too little free memory; lower dataMemory or batchSize, or give it at"
    )
    assert f"of 1500 MB of {group}" in refused
    assert refused.endswith("this one needs 1 MB for the network and 1450 MB for rows (dataMemory)")
