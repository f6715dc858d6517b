"""Random faults, always the same ones, in trainings whose ranks are processes of the engine alone: no run hangs, each
ends with an error that names a rank or with the right result, and goes on from its checkpoints to the same bits."""

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
STEP_TIMEOUT = 1.5
EPOCHS = 4
# A run that takes longer hangs; deadlines follow the steps, which are slow where the machine is busy.
LONGEST = 60.0
FAULTS = ["kill", "stop", "pause", "slow", "shut", "truncate"]


@dataclass
class Ranks:
    """The processes of one run."""

    program: Path
    folder: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, size: int, checkpoints: Path, resume: Path | None) -> None:
        self.folder.mkdir(parents=True)
        for rank in range(size):
            words = [self.program, rank, size, self.folder, STEP_TIMEOUT, EPOCHS, checkpoints]
            words += [] if resume is None else [resume]
            self.processes.append(
                subprocess.Popen(
                    [str(word) for word in words],
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "OMP_WAIT_POLICY": "passive"},
                )
            )

    def wait_till_running(self) -> None:
        deadline = time.monotonic() + LONGEST
        while len(list(self.folder.glob("*.running"))) < len(self.processes):
            assert time.monotonic() < deadline, "did not begin"
            if any(process.poll() for process in self.processes):
                return
            time.sleep(0.005)

    def send(self, rank: int, number: signal.Signals) -> None:
        if self.processes[rank].poll() is None:
            self.processes[rank].send_signal(number)

    def end(self, without: set[int], fault: str) -> dict[int, tuple[int, str]]:
        """Exit codes and last words of the ranks that are to end by themselves; the others are killed."""
        deadline = time.monotonic() + LONGEST
        ended = {}
        for rank, process in enumerate(self.processes):
            if rank not in without:
                try:
                    said, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise AssertionError(f"rank {rank} of {len(self.processes)} did not end after: {fault}") from None
                ended[rank] = (process.returncode, said.strip())
        self.close()
        return ended

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def newest(checkpoints: Path, size: int) -> Path | None:
    """The last checkpoint of which every rank has written its part."""
    whole = [folder for folder in checkpoints.iterdir() if all((folder / str(rank)).exists() for rank in range(size))]
    return max(whole, default=None)


def disturb(ranks: Ranks, fault: str, victim: int, delay: float) -> set[int]:
    """Does it; the ranks that will not end by themselves."""
    ranks.wait_till_running()
    time.sleep(delay)
    if fault == "kill":
        ranks.send(victim, signal.SIGKILL)
        return set()
    if fault == "stop":
        ranks.send(victim, signal.SIGSTOP)
        return {victim}
    if fault == "pause":
        ranks.send(victim, signal.SIGSTOP)
        time.sleep(0.3)
        ranks.send(victim, signal.SIGCONT)
    if fault == "slow":
        for _ in range(10):
            ranks.send(victim, signal.SIGSTOP)
            time.sleep(0.06)
            ranks.send(victim, signal.SIGCONT)
            time.sleep(0.02)
    if fault == "shut":
        ranks.send(victim, signal.SIGUSR1)
    return set()


def check_ends(ended: dict[int, tuple[int, str]], fault: str, victim: int, size: int) -> None:
    """Each rank ended as it should have, and said why."""
    for rank, (code, said) in ended.items():
        if fault == "kill" and rank == victim:
            assert code in (0, -signal.SIGKILL), (fault, rank, code, said)
        elif code == 3:
            assert "rank " in said and any(f"rank {peer}" in said for peer in range(size) if peer != rank), said
        elif code == 5:
            assert fault == "truncate", (fault, rank, said)
            assert said.startswith("Not a checkpoint: ") or "afetensors" in said, said
        else:
            assert code == 0, (fault, rank, code, said)


@pytest.fixture(scope="module")
def program() -> Path:
    """The program of one rank, which no other rung of e2e needs."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["ninja", "-C", BUILD, "train_rank"], check=True, capture_output=True)
    return BUILD / "tests" / "native" / "train" / "train_rank"


def undisturbed(program: Path, folder: Path, size: int) -> tuple[bytes, float]:
    """The weights of a training that nothing happens to, and how long it took."""
    ranks = Ranks(program, folder / "run")
    (folder / "checkpoints").mkdir(parents=True)
    start = time.monotonic()
    ranks.start(size, folder / "checkpoints", None)
    ranks.wait_till_running()
    start = time.monotonic()
    ended = ranks.end(set(), "nothing")
    took = time.monotonic() - start
    assert all(code == 0 for code, _ in ended.values()), ended
    weights = {(folder / "run" / f"{rank}.weights").read_bytes() for rank in range(size)}
    assert len(weights) == 1
    return weights.pop(), took


def endure(program: Path, folder: Path, numFaults: int, seed: int) -> dict[str, int]:
    """Trains again and again, with a fault in every run, till there were so many; how the runs ended."""
    dice = random.Random(seed)
    expected = {size: undisturbed(program, folder / f"undisturbed{size}", size) for size in (2, 3, 4)}
    endings = {"trained": 0, "lost": 0, "refused": 0}
    runs = 0
    while runs < numFaults:
        size = dice.choice([2, 3, 4])
        weights, took = expected[size]
        checkpoints = folder / f"checkpoints{runs}"
        checkpoints.mkdir()
        trained = False
        while not trained:
            fault, victim = dice.choice(FAULTS) if runs < numFaults else "none", dice.randrange(size)
            delay = dice.uniform(0, 1) * took
            resume = newest(checkpoints, size)
            if fault == "truncate" and resume is not None:
                part = resume / str(victim)
                os.truncate(part, dice.randrange(part.stat().st_size))
            ranks = Ranks(program, folder / f"run{runs}")
            ranks.start(size, checkpoints, resume)
            try:
                without = disturb(ranks, fault, victim, delay)
                ended = ranks.end(without, f"{fault} of rank {victim} after {delay:.2f} s, run {runs}")
            finally:
                ranks.close()
            check_ends(ended, fault, victim, size)
            codes = {code for code, _ in ended.values()}
            trained = codes == {0} and not without
            if trained:
                for rank in range(size):
                    assert (ranks.folder / f"{rank}.weights").read_bytes() == weights, (runs, fault, rank)
            if 5 in codes:  # what was cut off is of no more use
                assert resume is not None
                (resume / str(victim)).unlink()
            endings["trained" if trained else "refused" if 5 in codes else "lost"] += 1
            runs += 1
    return endings


@pytest.mark.timeout(300)
def test_some_random_faults(program, tmp_path):
    endings = endure(program, tmp_path, 12, seed=1)
    assert endings["trained"] > 0 and endings["lost"] > 0, endings


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_random_faults(program, tmp_path):
    endings = endure(program, tmp_path, 200, seed=2)
    assert min(endings.values()) > 0, endings
