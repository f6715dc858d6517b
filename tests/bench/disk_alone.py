"""How fast the disk under a folder is read past the page cache by nobody but us, in pieces as large and as many at once
as the engine reads what its memory did not hold."""

from __future__ import annotations

import mmap
import os
import random
import tempfile
import threading
import time
from pathlib import Path

PIECE = 2**20
PIECES = 2048
READERS = 2


def disk_speed(folder: Path) -> float:
    """Bytes a second."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        piece = os.urandom(PIECE)
        for _ in range(PIECES):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        order = random.sample(range(PIECES), PIECES)
        descriptor = os.open(file.name, os.O_RDONLY | os.O_DIRECT)
        readers = [threading.Thread(target=_read, args=(descriptor, order[i::READERS])) for i in range(READERS)]
        start = time.monotonic()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        seconds = time.monotonic() - start
        os.close(descriptor)
    return PIECE * PIECES / seconds


def _read(descriptor: int, pieces: list[int]) -> None:
    with mmap.mmap(-1, PIECE) as memory:
        for piece in pieces:
            os.preadv(descriptor, [memory], piece * PIECE)
