"""Faults in the middle of a training on real executor JVMs: each is named in time, the fit goes on, its result has the
bits of an undisturbed one, and nothing is left running or lying about."""

import functools
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import alive_on_executors
from driver_process import DriverProcess, Executor
from fit_program import classifier, outcome, rows
from namespace_cluster import NamespaceCluster, NoNamespaces

import bloomery

# What the user is told of a worker: its rank, host, executor and rows, and when and with what it was last heard of.
PLACE = r"rank {rank} \(host \S+, executor {executor}, partitions [\d, ]+\), last sign of life \d+\.\d s ago: epoch \d+"
NETWORK_TIMEOUT = 15
# How soon Spark itself gives up an executor that does not answer.
IMPATIENT = {
    "spark.network.timeout": f"{NETWORK_TIMEOUT}s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeoutInterval": "2s",
}


@pytest.fixture(scope="module")
def undisturbed(spark) -> Callable[[bool], dict[str, Any]]:
    """The result that every fit must have, by whether its rows come through a shuffle."""
    return functools.cache(lambda shuffled: outcome(classifier(verbose=0).fit(rows(spark, shuffled))))


@pytest.fixture
def start(tmp_path) -> Iterator[Any]:
    """Starts drivers, and ends what is left of them."""
    drivers = []

    def begin(**settings: Any) -> DriverProcess:
        checkpoints = settings.pop("checkpointPath", str(tmp_path / "checkpoints"))
        drivers.append(DriverProcess(tmp_path / f"driver{len(drivers)}", checkpointPath=checkpoints, **settings))
        return drivers[-1]

    yield begin
    for driver in drivers:
        driver.close()


def in_epoch_two(driver: DriverProcess) -> Executor:
    """Waits for the second epoch; an executor to disturb."""
    driver.wait_for_checkpoint(2, 300)
    return driver.executors()[-1]


def assert_whole(result: dict[str, Any], expected: dict[str, Any], driver: DriverProcess) -> None:
    """The result is that of an undisturbed fit, and nothing is left of this one."""
    assert "error" not in result, result
    assert result["weights"] == expected["weights"]
    assert result["losses"] == expected["losses"]
    assert result["alive"] == []
    driver.await_no_executors(5)
    assert list(driver.local.iterdir()) == []


def checkpoint_names(folder: Path) -> list[str]:
    """The checkpoints that are there; each is whole."""
    names = sorted(entry.name for entry in folder.iterdir())
    for name in names:
        files = {file.name for file in (folder / name).iterdir() if not file.name.endswith(".crc")}
        assert files == {"manifest.json", "state.safetensors", "worker-0.json", "worker-1.json"}, (name, files)
    return names


@pytest.mark.timeout(900)
@pytest.mark.parametrize("shuffled", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["plain", "shuffled"])
def test_killed_executor_is_named_and_training_goes_on(start, undisturbed, shuffled, tmp_path):
    driver = start(shuffled=shuffled)
    victim = in_epoch_two(driver)
    killed = victim.send(signal.SIGKILL)
    named, match = driver.wait_for(PLACE.format(rank=r"(\d)", executor=victim.name), 60)
    assert named - killed < 10
    assert "bucket 1 of 1" in match.string or "computing" in match.string or "step headers" in match.string
    resumed, _ = driver.wait_for(r"Attempt 2 goes on from the end of epoch [1-4], checkpoint epoch-", 120)
    assert resumed - killed < 60
    assert_whole(driver.result(600), undisturbed(shuffled), driver)
    assert [name[:12] for name in checkpoint_names(tmp_path / "checkpoints")][-1] == "epoch-000006"


def assert_lost_and_gone_on(driver: DriverProcess, victim: Executor, silent: float) -> None:
    """An executor that fell silent at this time is warned of, lost after four seconds, and replaced."""
    place = PLACE.format(rank=r"(\d)", executor=victim.name)
    warned, slow = driver.wait_for(rf"Slow worker: {place}.*\. Others have waited \d\.\d s for it", 60)
    lost, match = driver.wait_for(
        rf"Lost contact with rank (\d) during allreduce of .* \(\d+ bytes\) on rank \d of 2, timeout \d+ ms: it sent"
        rf" nothing in time.*, after step \d+ of epoch \d\. Lost was {place}",
        60,
    )
    assert match.group(1) == match.group(2) == slow.group(1)
    assert warned < lost
    assert 4 < lost - silent < 4 + 6  # two of them to learn whether the peer failed by itself
    resumed, _ = driver.wait_for(r"Attempt 2 goes on from the end of epoch [1-4], checkpoint epoch-", 120)
    assert resumed - silent < NETWORK_TIMEOUT + 30


@pytest.mark.timeout(900)
def test_stopped_executor_is_lost_after_step_timeout(start, undisturbed):
    driver = start(conf=IMPATIENT, stepTimeout=4.0)
    victim = in_epoch_two(driver)
    assert_lost_and_gone_on(driver, victim, victim.send(signal.SIGSTOP))
    assert_whole(driver.result(600), undisturbed(False), driver)


@pytest.fixture
def cluster(tmp_path) -> Iterator[NamespaceCluster]:
    """Workers whose links can be cut, each with room for one executor: two of them, and one for what is lost."""
    try:
        made = NamespaceCluster(tmp_path / "cluster", workers=3)
    except NoNamespaces as reason:
        pytest.skip(str(reason))
    yield made
    made.close()


@pytest.mark.timeout(900)
def test_executor_behind_a_cut_link_is_lost_after_step_timeout(start, undisturbed, cluster):
    own = {
        "spark.driver.host": cluster.host,
        "spark.driver.bindAddress": cluster.host,
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
    }
    driver = start(
        master=cluster.master, conf=IMPATIENT | own, environment={"SPARK_LOCAL_IP": cluster.host}, stepTimeout=4.0
    )
    victim = in_epoch_two(driver)
    assert_lost_and_gone_on(driver, victim, cluster.set_link(victim.host, "down"))
    result = driver.result(600)
    cluster.set_link(victim.host, "up")
    driver.await_no_executors(60)  # the one that was cut off learns of its end only now
    assert_whole(result, undisturbed(False), driver)


@pytest.mark.timeout(900)
def test_killed_driver_and_a_corrupt_checkpoint_are_gone_on_from(start, undisturbed, tmp_path):
    driver = start()
    driver.wait_for_checkpoint(4, 300)
    driver.kill()
    driver.await_no_executors(10)
    folder = tmp_path / "checkpoints"
    whole = sorted(path.parent for path in folder.glob("*/manifest.json"))
    assert len(whole) >= 2
    state = whole[-1] / "state.safetensors"
    content = bytearray(state.read_bytes())
    content[-1] ^= 1
    state.write_bytes(content)
    (whole[-1] / ".state.safetensors.crc").unlink(missing_ok=True)  # Hadoop would find out by itself
    again = start()
    result = again.result(600)
    assert any(event.startswith(f"Checkpoint is passed over: {whole[-1].name}: ") for event in result["events"])
    went_on = [event for event in result["events"] if event.startswith("Training goes on from the end of epoch ")]
    assert went_on == [f"{went_on[0].split(', checkpoint')[0]}, checkpoint {whole[-2].name}"]
    assert_whole(result, undisturbed(False), again)
    assert checkpoint_names(folder)[-1].startswith("epoch-000006")


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of its own with little room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "bloomery-small", folder], capture_output=True, text=True
    )
    if mount.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {mount.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> Path:
    """Takes all the room."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        return filler


@pytest.mark.timeout(900)
def test_full_disk_costs_a_checkpoint_and_not_the_training(start, undisturbed, small_disk):
    driver = start(checkpointPath=str(small_disk / "checkpoints"))
    in_epoch_two(driver)
    filler = fill(small_disk)
    filled = time.monotonic()
    told, _ = driver.wait_for(
        r"Checkpoint was not written: epoch-\S+, worker \d: No space left on device. Training goes on", 120
    )
    filler.unlink()
    result = driver.result(600)
    assert_whole(result, undisturbed(False), driver)
    assert told > filled
    names = checkpoint_names(small_disk / "checkpoints")
    assert names[-1].startswith("epoch-000006"), "written again once there was room"
    assert all(event.startswith("Checkpoint was not written: ") for event in result["events"])


@pytest.mark.timeout(900)
def test_cancelled_fit_goes_on_later(spark, undisturbed, tmp_path):
    folder = tmp_path / "checkpoints"
    fit = classifier(verbose=0, checkpointPath=str(folder))
    cancelled = []

    def cancel() -> None:
        while not list(folder.glob("epoch-000003-*/manifest.json")):
            time.sleep(0.02)
        cancelled.append(time.monotonic())
        spark.sparkContext.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(bloomery.Cancelled, match="The fit was cancelled"):
        fit.fit(rows(spark, False))
    ended = time.monotonic()
    thread.join()
    assert ended - cancelled[0] < 2
    deadline = cancelled[0] + 3  # asking takes time as well
    while alive_on_executors(spark):
        assert time.monotonic() < deadline
    model = fit.fit(rows(spark, False))
    assert re.match("Training goes on from the end of epoch [2-4], ", model.summary.events[0]["text"])
    assert outcome(model) == undisturbed(False)
    assert checkpoint_names(folder)[-1].startswith("epoch-000006")
