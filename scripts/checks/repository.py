"""What the checks look at: the files that are, or could be, committed; and how they say what they found."""

import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Finding:
    path: Path | str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@functools.cache
def files() -> tuple[Path, ...]:
    """Paths from the root, sorted, without what .gitignore leaves out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(sorted(Path(name) for name in names if name and (ROOT / name).is_file()))


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file; none for a binary one."""
    content = (ROOT / path).read_bytes()
    if b"\0" not in content:
        yield from enumerate(content.decode("utf-8", "replace").splitlines(), start=1)


def versions() -> dict[str, tuple[int, str]]:
    """Line and value of each entry in scripts/versions."""
    entries = {}
    for number, line in lines(Path("scripts/versions")):
        name, separator, value = line.partition("#")[0].strip().partition("=")
        if separator:
            entries[name] = (number, value)
    return entries
