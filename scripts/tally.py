"""Adds up the JUnit reports of the rungs, one folder each: names the failed tests, ends with "N passed, N failed"."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def tally(rung: Path) -> tuple[int, list[str]]:
    """How many tests passed, and the names of those that failed."""
    passed = 0
    failed = []
    for report in sorted(rung.glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(f"{rung.name}: {case.get('classname')} {case.get('name')}")
            elif case.find("skipped") is None:
                passed += 1
    if (rung / "broken").exists() and not failed:
        failed.append(f"{rung.name}: did not run to its end")
    return passed, failed


def main(folder: Path) -> int:
    results = [tally(rung) for rung in sorted(folder.iterdir())]
    passed = sum(count for count, _ in results)
    failed = [name for _, names in results for name in names]
    for name in failed:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
