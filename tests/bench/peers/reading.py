"""How peers that read answer "run SECONDS" as competitor.py says: by the same work again and again."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable


def answer(read: Callable[[], int], settings: str, is_alone: bool = True) -> None:
    """`read` does the work once and tells the rows. Libraries write to standard output, too: answers go to the one that
    the program started with. is_alone: no other process has part in the work, so the memory of this one is all."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        seconds = float(line.split()[1])
        rows, start = 0, time.perf_counter()
        while rows == 0 or time.perf_counter() - start < seconds:
            rows += read()
        result = {"samplesPerSecond": rows / (time.perf_counter() - start), "settings": settings}
        if is_alone:
            result["peakBytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        answers.write(json.dumps(result) + "\n")
        answers.flush()
