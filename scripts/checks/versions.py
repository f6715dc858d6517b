"""Do the files that must repeat a version agree with scripts/versions, and with each other on our own version?"""

import re
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, Finding, lines, versions

POM = Path("spark-connector/pom.xml")
EXAMPLE = Path("examples/scala/pom.xml")
# File, pattern whose group is the version, entry of scripts/versions.
REPEATED = (
    (POM, r"<spark\.version>(.+)</", "SPARK_COMPILE_VERSION"),
    (POM, r"<scala\.version>(.+)</", "SCALA_VERSION"),
    (POM, r"<arrow\.version>(.+)</", "ARROW_C_DATA_VERSION"),
    (POM, r"<scalatest\.version>(.+)</", "SCALATEST_VERSION"),
    (EXAMPLE, r"<spark\.version>(.+)</", "SPARK_COMPILE_VERSION"),
    (EXAMPLE, r"<scala\.version>(.+)</", "SCALA_VERSION"),
    (Path(".scalafmt.conf"), r"^version = (.+)$", "SCALAFMT_VERSION"),
)
OURS = (
    (POM, r"^  <version>(.+)</version>"),
    (Path("CMakeLists.txt"), r"^project\(.* VERSION (\S+)"),
    (EXAMPLE, r"<bloomery\.version>(.+)</"),
    (Path("spark-connector/python/pyproject.toml"), r'^version = "(.+)"'),
)


def find(path: Path, pattern: str) -> tuple[int, str] | None:
    if (ROOT / path).exists():
        for number, line in lines(path):
            if match := re.search(pattern, line):
                return number, match[1]
    return None


def check() -> Iterator[Finding]:
    wanted = versions()
    for path, pattern, name in REPEATED:
        found = find(path, pattern)
        if found and found[1] != wanted[name][1]:
            yield Finding(path, found[0], f"version {found[1]}, but scripts/versions says {name}={wanted[name][1]}")
    ours = [(path, found) for path, pattern in OURS if (found := find(path, pattern))]
    for path, (number, version) in ours[1:]:
        if version != ours[0][1][1]:
            yield Finding(path, number, f"our own version is {version} here, but {ours[0][1][1]} in {ours[0][0]}")
