"""The engine's five kinds of error as Python exceptions, with the engine's own sentence as their text.

Spark's exception stays reachable as `__context__`; nothing of it is shown, since it has a page of Java's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.errors import PythonException

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


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
_NO_REASON = (
    "The server of Spark Connect could not load this, and Spark 4.0 tells its clients no more: look whether the path is"
    " right and this class was saved there, or into the server's log"
)
_UDF_FAILURE = "org.apache.spark.api.python.PythonException"
_FILE_FAILURE = "java.io.IOException"


@contextmanager
def translated() -> Iterator[None]:
    """Inside this block a Java exception of Bloomery, here or on a server, is raised as its Python counterpart.

    What a Python UDF upstream threw is raised as pyspark's PythonException, as pyspark itself does where it can, and
    what a file system did as an OSError; all others pass unchanged.
    """
    try:
        yield
    except Exception as error:
        name, message = _thrown(error)
        if name == _UDF_FAILURE:
            raise PythonException(message=message) from None
        if name == _FILE_FAILURE:
            raise OSError(message) from None
        if not name.startswith(_PACKAGE):
            raise
        raise _KINDS.get(name, BloomeryError)(message) from None


def _thrown(error: Exception) -> tuple[str, str]:
    """The class and the message of what a JVM threw; of anything else, nothing."""
    java = getattr(error, "java_exception", None)  # py4j's, which a client of Spark Connect need not have
    if java is not None:
        classes = _classes(java)
        return (_FILE_FAILURE if _FILE_FAILURE in classes else classes[0]), java.getMessage()
    if not type(error).__module__.endswith(".connect"):
        return "", ""
    message = getattr(error, "_message", str(error))  # without the server's stack
    if re.search(r"(Unsupported ML operator, found|Unsupported read for) io\.bloomery\.", message):
        return _PACKAGE + BloomeryError.__name__, _NO_JAR
    of_ours = re.fullmatch(r"\((io\.bloomery\.\w+|java\.io\.IOException)\) (.*)", message, re.DOTALL)
    if "InvocationTargetException" in message:  # Spark 4.0 tells no more of a load
        causes = getattr(error, "_stacktrace", None) or ""
        of_ours = re.search(
            r"^Caused by: (io\.bloomery\.\w+): (.*?)(?=\n\tat |\n?\Z)", causes, re.MULTILINE | re.DOTALL
        )
        if of_ours is None:
            return _PACKAGE + BloomeryError.__name__, _NO_REASON
    return (of_ours[1], of_ours[2]) if of_ours else ("", "")


def _classes(java: JavaObject) -> list[str]:
    """The names of its class and of those that it extends."""
    names = []
    found = java.getClass()
    while found is not None:
        names.append(found.getName())
        found = found.getSuperclass()
    return names
