"""The code of the documents runs as it stands on the real data, and so does the spark-submit job."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "build" / "data" / "mnist"


@pytest.fixture(scope="module", autouse=True)
def mnist():
    subprocess.run([ROOT / "datasets" / "mnist"], check=True)


def run(command, folder, **environment):
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("document", ["README.md", "docs/getting-started.md"])
def test_python_of_a_document_runs(document, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    (tmp_path / "build" / "data").mkdir(parents=True)
    (tmp_path / "build" / "data" / "mnist").symlink_to(DATA)
    printed = run([sys.executable, "-c", code], tmp_path)
    assert "prediction" in printed
    assert list(tmp_path.rglob("weights.safetensors"))


IMPORTS = "\n".join(f"import io.bloomery.{package}_" for package in ("", "network.", "optim.", "training."))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_scala_of_the_documents_runs(tmp_path):
    """Each block by itself, in a spark-shell, which says "error" of what it does not take and goes on."""
    (tmp_path / "build" / "data").mkdir(parents=True)
    (tmp_path / "build" / "data" / "mnist").symlink_to(DATA)
    documents = [path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))]
    blocks = [block for text in documents for block in re.findall(r"```scala\n(.*?)```", text, re.DOTALL)]
    told = [f'{{\n{block}println("block {number} ran")\n}}' for number, block in enumerate(blocks)]
    home = Path(pyspark.__path__[0])
    command = [home / "bin" / "spark-shell", "--master", "local[2]", "--jars", os.environ["BLOOMERY_JAR"]]
    text = "\n".join([IMPORTS, *told]) + "\n"
    result = subprocess.run(
        command, input=text, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "SPARK_HOME": str(home)}
    )
    assert len(blocks) > 4
    assert [number for number in range(len(blocks)) if f"block {number} ran" not in result.stdout] == [], result.stdout


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_spark_submit_job_runs(tmp_path):
    home = tmp_path / "spark-home"  # of links, so that the executors' folders go with the test's
    home.mkdir()
    for folder in ("bin", "jars", "python", "sbin"):
        (home / folder).symlink_to(Path(pyspark.__path__[0]) / folder)
    command = [
        str(home / "bin" / "spark-submit"),
        *("--master", "local-cluster[2,1,1024]"),
        *("--jars", os.environ["BLOOMERY_JAR"]),
        str(ROOT / "examples" / "mnist_submit.py"),
        *("--data", str(DATA), "--model", str(tmp_path / "model"), "--epochs", "1"),
    ]
    printed = run(command, tmp_path, SPARK_HOME=str(home))
    accuracy = re.search(r"test accuracy: ([0-9.]+)", printed)
    assert accuracy and float(accuracy[1]) > 0.97, printed
    assert (tmp_path / "model" / "weights.safetensors").exists()
