"""Runs fit_program.py as a driver of its own, follows what it says, and finds its executors."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

LOG4J = Path(__file__).resolve().parents[2] / "examples" / "log4j2.properties"
QUIET = f"-Dlog4j2.configurationFile=file:{LOG4J}"
CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": QUIET,
    "spark.executor.extraJavaOptions": QUIET,
}


@dataclass
class Executor:
    """An executor's JVM."""

    pid: int
    name: str  # as Spark calls it
    host: str

    def send(self, number: signal.Signals) -> float:
        """Sends a signal; when that was."""
        os.kill(self.pid, number)
        return time.monotonic()


class DriverProcess:
    """A driver from its start to its end; everything it started is gone afterwards, or `close` tells."""

    def __init__(
        self,
        folder: Path,
        *,
        master: str = "local-cluster[2,1,1024]",
        conf: dict[str, str] | None = None,
        environment: dict[str, str] | None = None,
        shuffled: bool = False,
        **params: Any,
    ):
        folder.mkdir(parents=True, exist_ok=True)
        self.checkpoints = Path(params["checkpointPath"])
        self._own = f"SPARK_LOCAL_DIRS={folder.parent}/".encode()
        self.local = folder / "local"
        self.local.mkdir(exist_ok=True)
        self._result = folder / "result.json"
        self._result.unlink(missing_ok=True)
        settings = {
            "master": master,
            "conf": {**CONF, "spark.local.dir": str(self.local), **(conf or {})},
            "params": params,
            "shuffled": shuffled,
            "result": str(self._result),
        }
        (folder / "settings.json").write_text(json.dumps(settings))
        self.home = Path(pyspark.__path__[0])
        # PySpark puts the JVM into a group of its own, so it is found by its parent.
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("fit_program.py"), folder / "settings.json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "SPARK_HOME": str(self.home), "SPARK_LOCAL_DIRS": str(self.local)} | (environment or {}),
        )
        self.lines: list[tuple[float, str]] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.application = "none yet"
        try:
            self.application = self.wait_for(r"^application (\S+)", 300)[1].group(1)
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._changed:
                self.lines.append((time.monotonic(), line.strip()))
                self._changed.notify_all()

    def wait_for(self, pattern: str, seconds: float) -> tuple[float, re.Match[str]]:
        """The first line that has the pattern, and when it came."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for when, line in self.lines:
                    if match := re.search(pattern, line):
                        return when, match
                left = deadline - time.monotonic()
                said = "\n".join(line for _, line in self.lines)
                assert left > 0, f"not said within {seconds} s: {pattern}; said was:\n{said}"
                assert self._process.poll() is None or self._reader.is_alive(), f"ended before {pattern}:\n{said}"
                self._changed.wait(min(left, 0.2))

    def wait_for_checkpoint(self, epoch: int, seconds: float) -> None:
        """Till the one is whole that was made before this epoch, which is then under way."""
        deadline = time.monotonic() + seconds
        while not any(path.stat().st_size for path in self.checkpoints.glob(f"epoch-{epoch:06}-*/manifest.json")):
            said = "\n".join(line for _, line in self.lines)
            assert time.monotonic() < deadline and self._process.poll() is None, f"no checkpoint; said was:\n{said}"
            time.sleep(0.01)
        time.sleep(0.3)  # its checksum may still be written

    def executors(self) -> list[Executor]:
        """Those that live, the newest last."""
        found = []
        for pid, words in processes():
            if "CoarseGrainedExecutorBackend" in " ".join(words) and self.application in words and self._owns(pid):
                name, host = (words[words.index(option) + 1] for option in ("--executor-id", "--hostname"))
                found.append(Executor(pid, name, host))
        return sorted(found, key=lambda executor: int(executor.name))

    def _owns(self, pid: int) -> bool:
        # Applications of other drivers that started in the same second have the same name.
        try:
            return self._own in (Path("/proc") / str(pid) / "environ").read_bytes()
        except OSError:
            return False  # it has just ended

    def result(self, seconds: float) -> dict[str, Any]:
        """Waits for the end of the program, which leaves no process behind."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            said = "\n".join(line for _, line in self.lines)
            raise AssertionError(f"did not end within {seconds} s; said was:\n{said}") from None
        self._reader.join(10)
        assert self._result.exists(), "\n".join(line for _, line in self.lines)
        return json.loads(self._result.read_text())

    def kill(self) -> float:
        """Ends the driver, Python and JVM, as if its machine had gone; when that was."""
        pids = [self._process.pid, *children(self._process.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self._process.wait(10)
        return time.monotonic()

    def await_no_executors(self, seconds: float) -> None:
        """Executors end by themselves when their driver has."""
        deadline = time.monotonic() + seconds
        while self.executors():
            assert time.monotonic() < deadline, f"still running: {self.executors()}"
            time.sleep(0.1)

    def close(self) -> None:
        """Ends whatever a failed test left."""
        if self._process.poll() is None:
            self.kill()
        for executor in self.executors():
            os.kill(executor.pid, signal.SIGKILL)
        shutil.rmtree(self.home / "work" / self.application, ignore_errors=True)  # copies of the jar


def processes() -> list[tuple[int, list[str]]]:
    """All processes with their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue  # it has just ended
            found.append((int(entry.name), words))
    return found


def children(pid: int) -> list[int]:
    """The Spark drivers that a Python process has started."""
    found = []
    for child, words in processes():
        try:
            parent = int((Path("/proc") / str(child) / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == pid and "org.apache.spark.deploy.SparkSubmit" in words:
            found.append(child)
    return found
