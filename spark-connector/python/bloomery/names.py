"""Names: snake_case to camelCase and back, and the nearest known keyword for one that is not."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def camel_case(name: str) -> str:
    """kernel_size -> kernelSize; a name that is camelCase already stays."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def snake_case(kind: str) -> str:
    """MaxPool2D -> max_pool2d, LeakyReLU -> leaky_relu: the name that the engine gives a layer of this kind."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.replace("ReLU", "Relu")).lower()


def unknown_keyword(function: str, name: str, known: Iterable[str]) -> TypeError:
    """The exception for a keyword that `function` does not have; it suggests the nearest one."""
    by_folded = {_folded(candidate): candidate for candidate in known}
    nearest = get_close_matches(_folded(name), by_folded, n=1)
    hint = f", nearest known: {by_folded[nearest[0]]}" if nearest else f", known: {', '.join(by_folded.values())}"
    return TypeError(f"Unknown keyword of {function}: {name}{hint}")


def user_code(value: Any) -> TypeError:
    """The exception for a function or a class of the user's where a part of a network is wanted, or a class of ours."""
    if isinstance(value, type) and value.__module__.startswith(f"{__package__}."):
        return TypeError(f"A class, not one of its kind: give {value.__name__}(...), instead of {value.__name__}")
    return TypeError(
        "Losses, metrics, layers, activations and optimizers in user code are not offered in this version:"
        f" choose one that Bloomery has, instead of {value!r}"
    )


def check_keywords(owner: str, function: Callable[..., Any], given: Iterable[str]) -> None:
    """Raises for the first keyword that the `__init__` does not have."""
    _, *parameters = inspect.signature(function).parameters.values()
    known = [each.name for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL]
    for name in given:
        if name not in known:
            raise unknown_keyword(owner, name, known)


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """Makes an `__init__` answer an unknown keyword with the nearest one that it has."""
    owner = function.__qualname__.split(".")[0]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_keywords(owner, function, kwargs)
        return function(*args, **kwargs)

    return checked


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
