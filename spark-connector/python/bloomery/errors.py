"""The engine's five kinds of error as Python exceptions, with the engine's own sentence as their text.

The Java exception stays reachable as `__cause__`; nothing else of the JVM is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PythonException


class BloomeryError(Exception):
    """Anything that Bloomery itself reports."""


class UserError(BloomeryError):
    """A wrong network, option, schema or value: change it and try again."""


class PeerLost(BloomeryError):
    """Another worker died, hung or closed its connection: trying again may help."""


class Cancelled(BloomeryError):
    """Somebody asked the training to stop."""


class ResourceError(BloomeryError):
    """Memory or disk ran out."""


class InternalError(BloomeryError):
    """A fault of the engine itself."""


_PACKAGE = "io.bloomery."
_KINDS: dict[str, type[BloomeryError]] = {
    _PACKAGE + kind.__name__: kind for kind in (UserError, PeerLost, Cancelled, ResourceError, InternalError)
}


_UDF_FAILURE = "org.apache.spark.api.python.PythonException"


@contextmanager
def translated() -> Iterator[None]:
    """Inside this block a Java exception of Bloomery is raised as its Python counterpart.

    What a Python UDF upstream threw is raised as pyspark's PythonException, as pyspark itself does where it can; all
    others pass unchanged.
    """
    try:
        yield
    except Py4JJavaError as error:
        name = error.java_exception.getClass().getName()
        message = error.java_exception.getMessage()
        if name == _UDF_FAILURE:
            raise PythonException(message=message) from error
        if not name.startswith(_PACKAGE):
            raise
        raise _KINDS.get(name, BloomeryError)(message) from error
