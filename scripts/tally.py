"""Adds up the JUnit reports of the rungs, one folder each: names the failed tests, ends with "N passed, N failed"."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

FIRST, LAST = 5, 25  # lines


def excerpt(text: str) -> str:
    """Its beginning, where a stack trace says what is wrong, and its end, where a program does."""
    lines = text.rstrip().splitlines()
    return "\n".join(lines if len(lines) <= FIRST + LAST else [*lines[:FIRST], "…", *lines[-LAST:]])


def tally(rung: Path) -> tuple[int, list[str]]:
    """How many tests passed; the names of those that failed, and what they said."""
    passed = 0
    failed = []
    for report in sorted(rung.glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            failure = next((child for child in case if child.tag in ("failure", "error")), None)
            if failure is not None:
                said = case.findtext("system-out") or failure.text or failure.get("message") or ""
                failed.append(f"{rung.name}: {case.get('classname')} {case.get('name')}\n{excerpt(said)}")
            elif case.find("skipped") is None:
                passed += 1
    if (rung / "broken").exists() and not failed:
        last = max(rung.glob("*.log"), key=lambda log: log.stat().st_mtime, default=None)
        failed.append(f"{rung.name}: did not run to its end\n{excerpt(last.read_text()) if last else ''}")
    return passed, failed


def main(rungs: list[Path]) -> int:
    results = [tally(rung) for rung in rungs]
    passed = sum(count for count, _ in results)
    failed = [name for _, names in results for name in names]
    for name in failed:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))
