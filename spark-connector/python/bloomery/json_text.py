"""JSON of what users give, in which numbers and lists may be NumPy's."""

from __future__ import annotations

import json
from typing import Any


def plain_number(value: Any) -> Any:
    """A number of Python's for one of NumPy, a list for an array; others stay."""
    return value.tolist() if hasattr(value, "tolist") else value


def json_text(value: Any) -> str:
    """The value as JSON."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return plain_number(value)
    raise TypeError(f"Not a text, a number or a list or dict of them: {value!r}")
