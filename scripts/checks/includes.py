"""Which folder of native/ may include which, and where a third-party header may appear."""

import re
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, Finding, files, lines

LOW = {"base", "tensor", "network"}
MIDDLE = {"nn", "optim", "data", "comm", "onnx"}
MAY_INCLUDE = {
    "base": {"base"},
    "tensor": {"base", "tensor"},
    "network": LOW,
    **{module: LOW | {module} for module in MIDDLE},
    "checkpoint": LOW | MIDDLE | {"checkpoint"},
    "train": LOW | MIDDLE | {"checkpoint", "train"},
    "jni": LOW | MIDDLE | {"checkpoint", "train", "jni"},
    "tools": LOW | MIDDLE | {"checkpoint", "train", "tools"},
}
# A header that starts like this belongs to this folder of native/ alone; tests may use it to make their input.
THIRD_PARTY = {
    "nlohmann/": "base",
    "dnnl": "nn/dnnl",
    "oneapi/": "nn/dnnl",
    "arrow/": "data/arrow",
    "parquet/": "data/arrow",
    "gloo/": "comm/gloo",
    "openssl/": "base/crypto",
    "jni": "jni",
    "benchmark/": "tools",
}
TESTS_ONLY = ("gtest/", "gmock/")
SYSTEM = ("sys/", "netinet/", "arpa/", "linux/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check() -> Iterator[Finding]:
    for path in files():
        if path.suffix not in (".h", ".cc") or path.parts[0] not in ("native", "tests"):
            continue
        in_tests = path.parts[0] == "tests"
        folder = path.parent.relative_to("tests/native" if in_tests else "native")
        for number, line in lines(path):
            match = INCLUDE.match(line)
            if match is None:
                continue
            name = match[2]
            text = own(folder, name, in_tests) if match[1] == '"' else foreign(folder, name, in_tests)
            if text:
                yield Finding(path, number, text)
        if path.suffix == ".h":
            yield from header(path)


def own(folder: Path, name: str, in_tests: bool) -> str | None:
    if not ((ROOT / "native" / name).is_file() or (in_tests and (ROOT / "tests/native" / name).is_file())):
        return f"include by path from native/, this is no file there: {name}"
    if in_tests:
        return None
    module, included = folder.parts[0], name.split("/")[0]
    if module not in MAY_INCLUDE:
        return f"unknown module: {module}; give it a place in scripts/checks/includes.py"
    if included not in MAY_INCLUDE[module]:
        return f"{module} may not include {included}; it may include {', '.join(sorted(MAY_INCLUDE[module]))}"
    return None


def foreign(folder: Path, name: str, in_tests: bool) -> str | None:
    if name.startswith(TESTS_ONLY):
        return None if in_tests else f"only tests may include <{name}>"
    for prefix, home in THIRD_PARTY.items():
        if name.startswith(prefix):
            return (
                None
                if in_tests or folder.is_relative_to(home)
                else f"<{name}> may only be included in native/{home}; use that folder's own header"
            )
    if "/" in name and not name.startswith(SYSTEM):
        return f"unknown third-party header: <{name}>; give it one folder in scripts/checks/includes.py"
    return None


def header(path: Path) -> Iterator[Finding]:
    content = (ROOT / path).read_text()
    if not content.startswith("// "):
        yield Finding(path, 1, "a header starts with a comment: what it is for, what it is not, who owns what")
    if "\n#pragma once\n" not in content:
        yield Finding(path, 1, "#pragma once is missing")
