"""Runs the checks of this folder over the repository. Each is a module with check(), which yields its findings."""

import sys
from collections.abc import Iterable

import binaries
import includes
import licences
import links
import paths
import signatures
import versions
from repository import Finding

CHECKS = (includes, signatures, binaries, licences, versions, links, paths)


def main() -> int:
    findings: list[Finding] = []
    for module in CHECKS:
        found: Iterable[Finding] = module.check()
        findings.extend(found)
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
