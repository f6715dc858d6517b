"""Processes that have so much memory together and no more, page cache included, where the machine lets us have that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup/memory")  # control groups of the first version, which keep a limit each
SECONDS_TO_END = 30


@contextmanager
def limited_group(limit: int) -> Iterator[Path | None]:
    """A new group whose processes have so many bytes together; None: not possible here."""
    group = GROUPS / f"bloomery-bench-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        yield group
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    """The JVM of a Python process ends after it."""
    deadline = time.monotonic() + SECONDS_TO_END
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def entering(group: Path | None) -> Callable[[], None] | None:
    """What a new process does first, to be in the group."""
    if group is None:
        return None
    return lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
