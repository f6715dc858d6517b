"""Does the staged release export only the JNI functions, and load on the oldest system we promise?"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, Finding

STAGED = Path("build/release/lib/linux/x86_64")
# Debian 12, Ubuntu 22.04 and later have these. Raising one takes those machines away from users.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def check() -> Iterator[Finding]:
    library = STAGED / "libbloomery.so"
    if not (ROOT / library).exists():
        return
    for line in output("nm", "--dynamic", "--defined-only", "--format=posix", str(library)).splitlines():
        symbol = line.split()[0]
        if not symbol.startswith(("JNI_", "Java_")):
            yield Finding(library, 0, f"exported but should be hidden: {symbol}; see native/jni/exports.map")
    for path in sorted((ROOT / STAGED).iterdir()):
        for name, number in sorted(set(re.findall(r"\b([A-Z]+)_([0-9.]+)\b", needed(path)))):
            version = tuple(int(part) for part in number.split("."))
            if name in NEWEST and version > NEWEST[name]:
                newest = ".".join(map(str, NEWEST[name]))
                yield Finding(path.relative_to(ROOT), 0, f"needs {name}_{number}, newest promised: {newest}")


def needed(path: Path) -> str:
    """The part of readelf's version information about what is needed from other libraries."""
    return output("readelf", "--version-info", str(path)).partition("Version needs section")[2]
