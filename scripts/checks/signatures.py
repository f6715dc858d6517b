"""Do the JNI functions of native/jni have the signatures that javac derives from the native methods?"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, Finding, files

JAVA = Path("spark-connector/src/main/java")
ERRORS = Path("spark-connector/src/main/scala/io/bloomery/Errors.scala")
FUNCTION = re.compile(r"JNIEXPORT\s+(\w+)\s+JNICALL\s+(Java_\w+)\s*\(([^)]*)\)")


def functions(text: str) -> Iterator[tuple[str, int, str]]:
    """Name, line and signature without the names of the parameters."""
    for match in FUNCTION.finditer(text):
        parameters = [re.match(r"\s*(\w+\s*\*?)", parameter) for parameter in match[3].split(",")]
        types = [parameter[1].replace(" ", "") for parameter in parameters if parameter]
        yield match[2], text.count("\n", 0, match.start()) + 1, f"{match[1]} ({', '.join(types)})"


def write_errors(folder: Path) -> None:
    """The Java sources use exceptions written in Scala, which javac cannot read: these stand in for them."""
    folder.mkdir(parents=True)
    for name in re.findall(r"\bclass (\w+)", (ROOT / ERRORS).read_text()):
        body = f"{{ public {name}(String message) {{ super(message); }} }}"
        (folder / f"{name}.java").write_text(
            f"package io.bloomery; public class {name} extends RuntimeException {body}"
        )


def declared(sources: list[Path]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        write_errors(Path(folder, "io/bloomery"))
        command = ["javac", "-h", folder, "-d", folder, "-sourcepath", f"{JAVA}:{folder}", *map(str, sources)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if result.returncode != 0:
            raise ValueError(result.stderr.strip())
        text = "\n".join(path.read_text() for path in Path(folder).glob("*.h"))
    return {name: signature for name, _, signature in functions(text)}


def check() -> Iterator[Finding]:
    sources = [path for path in files() if path.is_relative_to(JAVA) and " native " in (ROOT / path).read_text()]
    implementations = [path for path in files() if path.is_relative_to("native/jni") and path.suffix == ".cc"]
    if not sources and not implementations:
        return
    try:
        wanted = declared(sources)
    except ValueError as error:
        yield Finding(sources[0], 1, f"javac failed: {error}")
        return
    for path in implementations:
        for name, line, signature in functions((ROOT / path).read_text()):
            expected = wanted.pop(name, None)
            if expected is None:
                yield Finding(path, line, f"no native method has this name: {name}")
            elif expected != signature:
                yield Finding(path, line, f"{name} is {signature}, but javac says {expected}")
    for name, signature in wanted.items():
        yield Finding(sources[0], 1, f"native method without implementation in native/jni: {name} {signature}")
