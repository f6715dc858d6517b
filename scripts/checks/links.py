"""Does every link between files in Markdown lead somewhere?"""

import re
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, Finding, files, lines

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(path: Path) -> set[str]:
    """Headings as GitHub turns them into anchors."""
    headings = [line.lstrip("#").strip() for _, line in prose(path) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    in_code = False
    for number, line in lines(path):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def check() -> Iterator[Finding]:
    for path in files():
        if path.suffix != ".md":
            continue
        for number, line in prose(path):
            for link in LINK.findall(line):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                destination = (ROOT / path).parent / target if target else ROOT / path
                if not destination.exists():
                    yield Finding(path, number, f"link leads nowhere: {link}")
                elif anchor and destination.suffix == ".md" and anchor not in anchors(destination):
                    yield Finding(path, number, f"no heading of that name: {link}")
