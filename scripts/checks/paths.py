"""Nothing may depend on one machine, one registry address, or on being finished later."""

import re
from collections.abc import Iterator
from pathlib import Path

from repository import Finding, files, lines

FORBIDDEN = (
    (re.compile(r"(?<![\w.$}])/(?:work|root|home|Users)/\w"), "a path of one machine"),
    (
        re.compile(r"--(?:extra-)?index-url|\bregistry[.]npmjs\b|\brepo1?[.]maven\b|[.]pythonhosted\b"),
        "a registry's address",
    ),
    (re.compile(r"\b(?:T[O]DO|F[I]XME)\b"), "finish it, or open an issue"),
    (re.compile(r"^(?:<{7}|>{7}) "), "a merge left this behind"),
)
NOT_OURS = {Path("LICENSE")}


def check() -> Iterator[Finding]:
    for path in files():
        if path in NOT_OURS:
            continue
        for number, line in lines(path):
            for pattern, reason in FORBIDDEN:
                if match := pattern.search(line):
                    yield Finding(path, number, f"{reason}: {match[0]}")
