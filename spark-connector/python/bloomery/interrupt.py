"""Ctrl-C while the JVM fits.

PySpark's own handler of the signal asks the JVM to cancel over the connection on which this thread waits for it: that
cannot work, and the fit would go on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.5  # seconds; a job may come after it was asked for


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside this block Ctrl-C cancels Spark's jobs, over a connection of its own.

    The block ends with KeyboardInterrupt as soon as the JVM has let go. Whoever presses it again has the handler that
    was there before.

    Only the main thread gets signals: elsewhere this does nothing.
    """
    from pyspark import SparkContext  # a client of Spark Connect has none, and does not come here

    context = SparkContext._active_spark_context
    if context is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    ended = threading.Event()

    def cancel() -> None:
        context.cancelAllJobs()
        while not ended.wait(_AGAIN):
            context.cancelAllJobs()

    canceller = threading.Thread(target=cancel, name="bloomery-cancel", daemon=True)

    def pressed(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        canceller.start()

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    except Exception:
        if canceller.ident is None:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
        ended.set()
    if canceller.ident is not None:
        canceller.join()
        raise KeyboardInterrupt from None
