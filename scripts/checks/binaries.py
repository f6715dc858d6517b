"""Does the staged release export only the JNI functions, and load on the oldest system we promise?"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, Finding

STAGED = Path("build/release/lib/linux/x86_64")
# Red Hat 9, Ubuntu 22.04, Debian 12 and later have these. Raising one takes those machines away from users.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}


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
    for path in libraries():
        for name, version in needs(path):
            if version > NEWEST[name]:
                needed, newest = (".".join(map(str, each)) for each in (version, NEWEST[name]))
                yield Finding(path.relative_to(ROOT), 0, f"needs {name}_{needed}, newest promised: {newest}")


def libraries() -> list[Path]:
    return sorted((ROOT / STAGED).iterdir())


def needs(path: Path) -> list[tuple[str, tuple[int, ...]]]:
    """The versions of the C and C++ libraries that a library needs, of those that have a limit."""
    # readelf tells what is needed from other libraries in the second part of its version information.
    text = output("readelf", "--version-info", str(path)).partition("Version needs section")[2]
    found = sorted(set(re.findall(r"\b([A-Z]+)_([0-9.]+)\b", text)))
    return [(name, tuple(map(int, number.split(".")))) for name, number in found if name in NEWEST]


def summary() -> str:
    """The newest of each that any of the staged libraries needs."""
    newest: dict[str, tuple[int, ...]] = {}
    for path in libraries():
        for name, version in needs(path):
            newest[name] = max(version, newest.get(name, ()))
    return ", ".join(f"{name}_{'.'.join(map(str, version))}" for name, version in sorted(newest.items()))


if __name__ == "__main__":
    findings = list(check())
    for finding in findings:
        print(finding)
    print(f"newest needed: {summary()}")
    raise SystemExit(1 if findings else 0)
