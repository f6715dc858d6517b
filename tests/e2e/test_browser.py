"""A fit as a user sees it in a browser: the tab of Spark's UI and the bar of a notebook, while it runs and afterwards.

With the variable BLOOMERY_SCREENSHOTS the pictures of the documents are made anew: it names their folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from browser import Page, browser
from ports import free_port

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "build" / "deps" / "browser-venv" / "bin" / "jupyter-notebook"

# Trains until a file "stop" is there, so that a test has as much time to look as it needs.
FIT = """
import time
from pathlib import Path

import bloomery
from bloomery import NeuralNetClassifier, Sequential
from bloomery import layers as L

builder = bloomery.spark_session_builder().master("local[2]").config("spark.ui.port", "0")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
data = spark.range(40000).selectExpr(
    "transform(sequence(0, 19), i -> float(cos(id * (i + 1)) + int(id % 3 = i % 3))) AS features",
    "int(id % 3) AS label",
)
network = Sequential(L.Input(20), L.Dense(64, "relu"), L.Dropout(0.2), L.Dense(3, "softmax"), name="three-kinds")
classifier = NeuralNetClassifier(
    network=network, metrics=["accuracy"], validationFraction=0.1, batchSize=32, epochs=EPOCHS, numWorkers=2,
    learningRate=0.0003, callbacks=[lambda epoch: Path("stop").exists()],
)
"""
PROGRAM = (
    FIT.replace("EPOCHS", "500")
    + """
print(spark.sparkContext.uiWebUrl, flush=True)
classifier.fit(data)
print("done", flush=True)
input()
"""
)


@pytest.fixture(scope="module", autouse=True)
def programs():
    subprocess.run([ROOT / "scripts" / "setup", "browser"], check=True)


@pytest.fixture
def page(tmp_path) -> Iterator[Page]:
    with browser(tmp_path) as opened:
        yield opened


def picture(page: Page, name: str, selector: str, folder: Path) -> Path:
    path = Path(os.environ.get("BLOOMERY_SCREENSHOTS", folder)) / name
    page.picture(path, selector)
    return path


@contextmanager
def ended(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def program(folder: Path) -> subprocess.Popen:
    with (folder / "program.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


CELLS = "[...document.querySelectorAll('.bloomery-workers tbody tr')].map(row => [...row.cells].map(c => c.innerText))"
TITLES = "[...document.querySelectorAll('.bloomery-workers th')].map(cell => cell.innerText)"

# Whether nothing of a curve sticks out of its picture.
INSIDE = """[...document.querySelectorAll('svg.bloomery-curves')].every(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('polyline, circle, text')].map(each => each.getBoundingClientRect()).every(box =>
    box.left >= frame.left - 1 && box.right <= frame.right + 1 &&
    box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1);
})"""


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_tab_of_the_ui_shows_curves_and_the_time_of_each_worker(page, tmp_path):
    with ended(program(tmp_path)) as fit:
        url = fit.stdout.readline().strip()
        assert url.startswith("http"), (tmp_path / "program.log").read_text()[-2000:]
        end = time.monotonic() + 60
        while time.monotonic() < end and not page.evaluate("!!document.querySelector('.bloomery-state')"):
            page.open(f"{url}/bloomery/")  # the first fit brings the tab
        page.wait("document.querySelector('.bloomery-state')?.innerText === 'training'")
        page.wait(f"({CELLS}).length === 2 && Number(({CELLS})[0][1]) >= 3")

        # The page loads itself again: nobody asks for it, and a later epoch is shown.
        seen = int(page.evaluate(CELLS)[0][1])
        page.wait(f"({CELLS}).length === 2 && Number(({CELLS})[0][1]) > {seen}")
        assert re.search(r"epoch \d+/500.*loss 0\.\d+.*samples/s", page.text())

        (tmp_path / "stop").touch()
        assert fit.stdout.readline().strip() == "done"
        page.open(f"{url}/bloomery/", width=1100)
        assert page.evaluate("document.querySelector('.bloomery-state').innerText") == "finished"

        # Each curve has a title, a line of training and one of validation, inside of the picture.
        curves = page.evaluate(
            "[...document.querySelectorAll('svg.bloomery-curves')].map(svg => [svg.querySelector('text').textContent,"
            " ...[...svg.querySelectorAll('polyline')].map(line => line.points.numberOfItems)])"
        )
        assert [curve[0] for curve in curves] == ["loss", "accuracy"]
        epochs = int(page.evaluate(CELLS)[0][1])
        assert all(curve[1:] == [epochs] * 2 for curve in curves)  # fewer than 200, so all are drawn
        assert page.evaluate(INSIDE)

        # Times of two ranks: an epoch is longer than its computing, and both have trained on rows.
        titles, rows = page.evaluate(TITLES), page.evaluate(CELLS)
        assert [row[titles.index("Worker")] for row in rows] == ["0", "1"]
        for row in rows:
            told = dict(zip(titles, map(float, row), strict=True))
            assert told["Rows"] > 10000
            assert 0 < told["Compute s"] <= told["Epoch s"]
            assert told["Allreduce s"] > 0
        assert page.evaluate(
            "[...document.querySelectorAll('.nav-link')].some(tab => tab.innerText.trim() === 'Bloomery')"
        )
        assert picture(page, "ui-tab.png", "body", tmp_path).stat().st_size > 10000
        fit.stdin.close()


def notebook_server(folder: Path, port: int) -> subprocess.Popen:
    """The real Jupyter, whose kernel is the Python that runs this test."""
    kernel = folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}))
    cells = [FIT.replace("EPOCHS", "40"), "model = classifier.fit(data)"]
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in cells]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), folder / "fit.ipynb")
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        "--ServerApp.ip=127.0.0.1",
    ]
    options += [f"--ServerApp.root_dir={folder}", "--JupyterNotebookApp.expose_app_in_browser=True"]
    ours = {f"JUPYTER_{name}": str(folder / "jupyter") for name in ("PATH", "CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")}
    with (folder / "server.log").open("w") as log:
        return subprocess.Popen([SERVER, *options], cwd=folder, env={**os.environ, **ours}, stdout=log, stderr=log)


BAR = "document.querySelector('.bloomery-fit progress')"


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_notebook_shows_a_bar_that_moves(page, tmp_path):
    port = free_port()
    with ended(notebook_server(tmp_path, port)):
        end = time.monotonic() + 60
        while time.monotonic() < end and f":{port}/" not in (tmp_path / "server.log").read_text():
            time.sleep(0.2)
        page.open(f"http://127.0.0.1:{port}/notebooks/fit.ipynb", width=1000, height=900)
        page.wait("window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'")
        page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")

        line = r"epoch \d+.40, step \d+(.\d+)?, loss \d\.\d{4}, accuracy \d\.\d{4}, \d+ samples.s, \d+ s left"
        page.wait(f"/{line}/.test(document.querySelector('.bloomery-fit')?.innerText)", 120)
        page.wait(f"{BAR}.value > 0 && document.querySelectorAll('.bloomery-epochs tbody tr').length >= 4")
        before = page.evaluate(f"{BAR}.value")
        page.wait(f"{BAR}.value > {before}")
        assert page.evaluate(f"{BAR}.max") > page.evaluate(f"{BAR}.value")
        assert page.evaluate(f"{BAR}.getBoundingClientRect().width") > 200
        assert picture(page, "notebook-bar.png", ".jp-CodeCell:has(.bloomery-fit)", tmp_path).stat().st_size > 10000

        (tmp_path / "stop").touch()
        page.wait("document.querySelector('.bloomery-fit').innerText.includes('finished after')")
        titles = page.evaluate("[...document.querySelectorAll('.bloomery-epochs th')].map(cell => cell.innerText)")
        assert titles == ["epoch", "loss", "accuracy", "validation loss", "validation accuracy", "samples/s", "seconds"]
        assert page.evaluate(f"{BAR}.max") == page.evaluate(f"{BAR}.value")
    shutil.rmtree(tmp_path / "jupyter")
