"""Models and estimators that the server of Spark Connect has; it needs what Spark's own client needs, such as grpcio.

The server fits, transforms, saves and loads the classes that Bloomery's jar lists for it. Of a model's other methods it
answers those alone that Spark allows by name: `summary`, and the text of anything that has a uid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.connect.readwrite import RemoteMLReader, RemoteMLWriter
from pyspark.ml.util import MLReadable
from pyspark.ml.wrapper import JavaWrapper

from bloomery.errors import translated

if TYPE_CHECKING:
    from pyspark.ml.wrapper import JavaModel

T = TypeVar("T", bound=MLReadable[Any])


class RemoteWriter(RemoteMLWriter):
    """What `write()` gives a client: the server saves."""

    def save(self, path: str) -> None:
        """Saves to the path, on any file system that the server's Hadoop knows."""
        with translated():
            super().save(path)


class RemoteReader(RemoteMLReader[T]):
    """What `read()` gives a client: the server loads."""

    def load(self, path: str) -> T:
        """Loads what was saved to the path."""
        # Spark takes the Java class's name from the Python module's, and finds the Python class by it again.
        named = type(self._clazz.__name__, (self._clazz,), {"__module__": "io.bloomery"})
        with translated():
            return RemoteMLReader(named).load(path)


def summary_of(model: JavaModel) -> str:
    """A model's summary as JSON."""
    with translated():
        return str(JavaWrapper(f"{model._java_obj}.summary")._call_java("toString"))
