"""Every block of Python in the documents runs as it stands there, or says why it does not.

Blocks of a document run in their order, in one namespace. A comment `<!-- given ... -->`, which readers do not see,
makes what a block takes for granted; `<!-- not run: reason -->` before a block leaves it out. Paths of HDFS are local
folders here, and MNIST is a few digits.
"""

import json
import os
import re
from pathlib import Path

import pytest

import bloomery

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PART = re.compile(
    r"^<!-- given\n(?P<given>.*?)^-->$|(?:^<!-- not run: (?P<reason>[^\n]+) -->\n+)?^```python\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def parts(text: str) -> list[tuple[int, str]]:
    """The Python of a document that runs, each piece with its line."""
    found = []
    for match in PART.finditer(text):
        name = "given" if match["given"] is not None else "code"
        if match["reason"] is None:
            found.append((text.count("\n", 0, match.start(name)), match[name]))
    return found


def with_python(path: Path) -> bool:
    return "```python" in path.read_text()


@pytest.fixture
def digits(spark, digits_folder, monkeypatch):
    """Works in a folder with a few digits where the documents have MNIST."""
    monkeypatch.chdir(digits_folder)
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(hadoop.Path(str(digits_folder)))  # where the JVM was started means nothing
    yield
    files.setWorkingDirectory(before)


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if with_python(path)], ids=lambda path: path.stem)
def test_python_of_a_document_runs(document, spark, digits):
    names = {"bloomery": bloomery, "L": bloomery.layers, "spark": spark}
    names |= {name: getattr(bloomery, name) for name in bloomery.__all__}
    for line, code in parts(document.read_text()):
        here = "\n" * line + code.replace("hdfs:///", f"file:{os.getcwd()}/")
        exec(compile(here, str(document), "exec"), names)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_blocks_are_closed_and_their_json_is_valid(document):
    text = document.read_text()
    assert text.count("```") % 2 == 0
    assert len(re.findall(r"^```python$", text, re.MULTILINE)) == sum(
        match["code"] is not None for match in PART.finditer(text)
    ), "a block of Python that the test does not see: write it without indentation"
    for block in re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        json.loads(block)


def test_a_block_is_left_out_for_a_reason_only():
    text = "<!-- given\nx = 1\n-->\n```python\nx += 1\n```\n<!-- not run: Keras -->\n\n```python\nx = 9\n```\n"
    text += "```python\ny = x\n```\n"
    assert [code for _, code in parts(text)] == ["x = 1\n", "x += 1\n", "y = x\n"]
