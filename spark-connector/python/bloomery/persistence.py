"""Saving and loading through the JVM's own writers and readers, with our errors as Python exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.util import JavaMLReadable, JavaMLReader, JavaMLWritable, JavaMLWriter, MLReadable, MLReader, MLWriter

from bloomery import jvm
from bloomery.errors import translated

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

T = TypeVar("T", bound=MLReadable[Any])


class Writer(JavaMLWriter):
    """What `write()` gives: `write().overwrite().save(path)`."""

    def save(self, path: str) -> None:
        """Saves to the path, on any file system that Hadoop knows."""
        with translated():
            super().save(path)


class Reader(JavaMLReader[T]):
    """What `read()` gives: `read().load(path)`."""

    def load(self, path: str) -> T:
        """Loads what was saved to the path."""
        with translated():
            return super().load(path)

    @classmethod
    def _load_java_obj(cls, clazz: type[JavaMLReadable[T]]) -> JavaObject:
        return jvm.java_class(f"io.bloomery.{clazz.__name__}")


class Writable(JavaMLWritable):
    """Can be saved."""

    def write(self) -> MLWriter:  # type: ignore[override]
        """A writer for this."""
        if jvm.is_remote():
            from bloomery.connect import RemoteWriter

            return RemoteWriter(self)
        with translated():
            return Writer(self)


class Readable(JavaMLReadable[T]):
    """Can be loaded."""

    @classmethod
    def read(cls) -> MLReader[T]:  # type: ignore[override]
        """A reader for this class."""
        if jvm.is_remote():
            from bloomery.connect import RemoteReader

            return RemoteReader(cls)
        return Reader(cls)
