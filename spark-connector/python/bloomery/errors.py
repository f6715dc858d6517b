"""The engine's five kinds of error as Python exceptions, with the engine's own sentence as their text.

Spark's exception stays reachable as `__cause__`; nothing else of the JVM is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

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


_NO_JAR = (
    "The server of Spark Connect does not have Bloomery's classes: start it with --jars and the path of the jar, which"
    " bloomery.jar() tells"
)
_UDF_FAILURE = "org.apache.spark.api.python.PythonException"


@contextmanager
def translated() -> Iterator[None]:
    """Inside this block a Java exception of Bloomery, here or on a server, is raised as its Python counterpart.

    What a Python UDF upstream threw is raised as pyspark's PythonException, as pyspark itself does where it can; all
    others pass unchanged.
    """
    try:
        yield
    except Exception as error:
        name, message = _thrown(error)
        if name == _UDF_FAILURE:
            raise PythonException(message=message) from error
        if not name.startswith(_PACKAGE):
            raise
        raise _KINDS.get(name, BloomeryError)(message) from error


def _thrown(error: Exception) -> tuple[str, str]:
    """The class and the message of what a JVM threw; of anything else, nothing."""
    java = getattr(error, "java_exception", None)  # py4j's, which a client of Spark Connect need not have
    if java is not None:
        return java.getClass().getName(), java.getMessage()
    if not type(error).__module__.endswith(".connect"):
        return "", ""
    message = getattr(error, "_message", str(error))  # without the server's stack
    if re.search(r"(Unsupported ML operator, found|Unsupported read for) io\.bloomery\.", message):
        return _PACKAGE + BloomeryError.__name__, _NO_JAR
    of_ours = re.fullmatch(r"\((io\.bloomery\.\w+)\) (.*)", message, re.DOTALL)
    if "InvocationTargetException" in message:  # Spark 4.0 tells no more of a load
        causes = getattr(error, "_stacktrace", None) or ""
        of_ours = re.search(
            r"^Caused by: (io\.bloomery\.\w+): (.*?)(?=\n\tat |\n?\Z)", causes, re.MULTILINE | re.DOTALL
        )
    return (of_ours[1], of_ours[2]) if of_ours else ("", "")
