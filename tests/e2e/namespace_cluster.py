"""A standalone Spark cluster of which every Worker has a network of its own, so that its link can be cut or made slow:
network namespaces, joined by a bridge. Needs root."""

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import pyspark
from driver_process import QUIET
from ports import free_port


class NoNamespaces(Exception):
    """They cannot be made here; the text says why."""


def run(*words: object) -> None:
    """A command that must succeed."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    except FileNotFoundError:
        raise NoNamespaces(f"{words[0]} is not installed, which Debian has in iproute2") from None
    if done.returncode != 0:
        raise NoNamespaces(f"{' '.join(str(word) for word in words)}: {done.stderr.strip()}")


def alive_workers(page: str) -> int:
    """As the Master tells on its page; none while it does not answer, or with a page that is not complete yet."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(page, timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, ValueError):
        return 0


class NamespaceCluster:
    """A Master beside the driver, and Workers of one core behind links of their own: so no two executors share one,
    whichever Worker comes first."""

    def __init__(self, folder: Path, workers: int = 2):
        if os.geteuid() != 0:
            raise NoNamespaces("network namespaces need root")
        self._folder = folder
        # Several may run on one machine.
        self._number = os.getpid() % 250
        self._bridge = f"blm{self._number}"
        self.host = self._address(1)
        self.master = f"spark://{self.host}:7077"
        self._spaces: list[str] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start(workers)
        except BaseException:
            self.close()
            raise

    def _address(self, machine: int) -> str:
        return f"10.231.{self._number}.{machine}"

    def _start(self, workers: int) -> None:
        run("ip", "link", "add", self._bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.host}/24", "dev", self._bridge)
        run("ip", "link", "set", self._bridge, "up")
        for worker in range(workers):
            self._join(worker)
        port = free_port(self.host)
        self._spark("master", [], "master.Master", "--host", self.host, "--port", "7077", "--webui-port", str(port))
        for worker in range(workers):
            within = ["ip", "netns", "exec", self._spaces[worker]]
            address = self._address(worker + 2)
            options = ["--host", address, "--webui-port", "0", "--cores", "1", "--memory", "3g"]
            work = self._folder / f"worker{worker}"
            self._spark(f"worker{worker}", within, "worker.Worker", *options, "--work-dir", str(work), self.master)
        self._await_workers(workers, f"http://{self.host}:{port}/json/")

    def _join(self, worker: int) -> None:
        space, link = f"{self._bridge}w{worker}", self._link(worker)
        run("ip", "netns", "add", space)
        self._spaces.append(space)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        run("ip", "link", "set", link, "master", self._bridge)
        run("ip", "link", "set", link, "up")
        run("ip", "-n", space, "addr", "add", f"{self._address(worker + 2)}/24", "dev", "eth0")
        run("ip", "-n", space, "link", "set", "lo", "up")
        run("ip", "-n", space, "link", "set", "eth0", "up")

    def _link(self, worker: int) -> str:
        return f"{self._bridge}v{worker}"

    def _spark(self, name: str, within: list[str], kind: str, *options: str) -> None:
        home = Path(pyspark.__path__[0])
        environment = {key: value for key, value in os.environ.items() if key != "SPARK_LOCAL_IP"}
        local = self._folder / f"{name}-local"
        local.mkdir(parents=True)
        environment |= {"SPARK_HOME": str(home), "SPARK_LOCAL_DIRS": str(local), "SPARK_DAEMON_MEMORY": "256m"}
        # The Master would start executors on a Worker that is cut off till it gives it up.
        environment["SPARK_DAEMON_JAVA_OPTS"] = f"{QUIET} -Dspark.worker.timeout=10"
        log = (self._folder / f"{name}.log").open("wb")
        command = [*within, str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options]
        self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        log.close()

    def _await_workers(self, workers: int, page: str) -> None:
        """Till the Master counts on all of them."""
        deadline = time.monotonic() + 120
        while alive_workers(page) < workers:
            assert time.monotonic() < deadline, "the Master or a Worker did not start"
            time.sleep(0.1)

    def set_link(self, host: str, state: str) -> float:
        """Sets the link of the Worker with this address up or down; when that was."""
        worker = int(host.rsplit(".", 1)[1]) - 2
        run("ip", "link", "set", self._link(worker), state)
        return time.monotonic()

    def limit(self, rate: str) -> None:
        """Gives the links of all Workers this rate, such as 100mbit, each in both directions."""
        shape = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", "100ms"]
        for worker, space in enumerate(self._spaces):
            run("tc", "qdisc", "replace", "dev", self._link(worker), *shape)
            run("tc", "-n", space, "qdisc", "replace", "dev", "eth0", *shape)

    def close(self) -> None:
        """Ends everything, what Workers started included."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for worker, space in enumerate(self._spaces):
            subprocess.run(["ip", "link", "del", self._link(worker)], capture_output=True)
            subprocess.run(["ip", "netns", "del", space], capture_output=True)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True)
