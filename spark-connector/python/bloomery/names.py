"""Keyword names: snake_case to camelCase, and the nearest known name for one that is not."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def camel_case(name: str) -> str:
    """kernel_size -> kernelSize; a name that is camelCase already stays."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def unknown_keyword(function: str, name: str, known: Iterable[str]) -> TypeError:
    """The exception for a keyword that `function` does not have; it suggests the nearest one."""
    by_folded = {_folded(candidate): candidate for candidate in known}
    nearest = get_close_matches(_folded(name), by_folded, n=1)
    hint = f", nearest known: {by_folded[nearest[0]]}" if nearest else f", known: {', '.join(by_folded.values())}"
    return TypeError(f"Unknown keyword of {function}: {name}{hint}")


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """Makes an `__init__` answer an unknown keyword with the nearest one that it has."""
    _, *parameters = inspect.signature(function).parameters.values()
    known = [each.name for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL]
    owner = function.__qualname__.split(".")[0]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise unknown_keyword(owner, name, known)
        return function(*args, **kwargs)

    return checked


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
