"""The notebooks of examples/ run as they stand on a real HDFS, and what they show is committed with them."""

import base64
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(ROOT / "scripts"))

import notebooks  # noqa: E402

NAMES = ["mnist", "flights", "solar", "cifar10"]


@pytest.fixture(scope="module")
def hdfs():
    minihdfs = ROOT / "scripts" / "minihdfs"
    yield subprocess.run([minihdfs, "start", "notebooks"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run([minihdfs, "stop", "notebooks"], check=True)


def printed(notebook) -> str:
    """All text that the notebook shows."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text", ""))
            texts += [value for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
    return "\n".join(texts)


def pictures(notebook) -> list[bytes]:
    found = [output.get("data", {}).get("image/png") for cell in notebook.cells for output in cell.get("outputs", [])]
    return [base64.b64decode(picture) for picture in found if picture]


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


def run(name: str, hdfs: str, monkeypatch) -> str:
    subprocess.run([ROOT / "datasets" / name], check=True)
    monkeypatch.setenv("HDFS", hdfs)
    notebook = notebooks.execute(EXAMPLES / f"{name}.ipynb")
    text = printed(notebook)
    assert "finished after" in text  # the bar of the fit
    assert "('parquet', " in text  # the engine itself has read from HDFS
    assert len(pictures(notebook)) == len(pictures(nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)))
    return text


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_mnist_from_hdfs_end_to_end(hdfs, monkeypatch):
    text = run("mnist", hdfs, monkeypatch)
    assert number(r"test accuracy: ([0-9.]+)", text) > 0.97
    assert "the same accuracy: True" in text


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_sunshine_is_predicted_better_than_guessed(hdfs, monkeypatch):
    text = run("solar", hdfs, monkeypatch)
    errors = [number(rf"{name} +mean error +([0-9.]+)", text) for name in ("hour before", "day before", "network")]
    assert errors[2] < 0.6 * min(errors[:2])


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_flights_learn_vectors_of_airports(hdfs, monkeypatch):
    assert number(r"'(?:late_)?auc': ([0-9.]+)", run("flights", hdfs, monkeypatch)) > 0.6


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_cifar10_learns_in_a_minute(hdfs, monkeypatch):
    assert number(r"'accuracy': ([0-9.]+)", run("cifar10", hdfs, monkeypatch)) > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_committed_without_anything_of_one_machine(name):
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "run scripts/notebooks"
    assert len(pictures(notebook)) >= 2
    for output in [output for cell in code for output in cell.outputs]:
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
    assert not re.search(r"/(?:root|home|work|tmp|usr)/|localhost|127\.0\.0\.1|hdfs://", printed(notebook))
