"""The memory of a process while it runs."""

import threading
import time
from pathlib import Path


class Watch(threading.Thread):
    """The largest anonymous memory that a process had since `start`."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{process}/status")
        self.peak = 0

    def now(self) -> int:
        """0 once it has ended."""
        try:
            lines = self.status.read_text().splitlines()
        except OSError:
            return 0
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))

    def run(self) -> None:
        while (bytes_now := self.now()) > 0:
            self.peak = max(self.peak, bytes_now)
            time.sleep(0.02)
