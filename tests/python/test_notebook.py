"""A fit in a notebook shows a bar in the cell's output; elsewhere it does not."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from bloomery.notebook import render

ROOT = Path(__file__).resolve().parents[2]

CELL = """
import bloomery
from bloomery import NeuralNetClassifier, Sequential, layers as L
from pyspark.sql import SparkSession

spark = bloomery.configure(SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")).getOrCreate()
data = spark.range(600).selectExpr("array(float(id % 2), float(1 - id % 2)) AS features", "int(id % 2) AS label")
network = Sequential(L.Input(2), L.Dense(8, "relu"), L.Dense(2, "softmax"))
NeuralNetClassifier(network=network, metrics=["accuracy"], epochs=3, verbose={verbose}).fit(data)
spark.stop()
"""

TRAINING = {
    "state": "training",
    "workers": 2,
    "seconds": 4.0,
    "secondsLeft": 14.2,
    "progress": {
        **{"epoch": 2, "epochs": 3, "step": 20, "steps": 100, "loss": 0.31, "rows": 600},
        **{"metrics": {"accuracy": 0.9}, "samplesPerSecond": 2105.4},
    },
    "epochs": [
        {"epoch": 1, "numbers": {"loss": 0.5, "validation loss": 0.4}, "seconds": 2.5, "samplesPerSecond": 2400.0}
    ],
    "events": ["rank 1 <slow>"],
}


def test_the_bar_tells_how_far_the_fit_is():
    text = render(TRAINING)
    assert 'max="300" value="120"' in text
    assert "epoch 2/3, step 20/100, loss 0.3100, accuracy 0.9000, 2105 samples/s, 14 s left" in text
    assert "<td>1</td><td>0.5000</td><td>0.4000</td><td>2400</td><td>2.5</td>" in text
    assert "rank 1 &lt;slow&gt;" in text


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        ({"state": "waiting"}, "waiting"),
        ({"state": "loading", "progress": {"rows": 12, "epochs": 3, "steps": 0}}, "loading, 12 rows"),
        ({"state": "training", "progress": {"epoch": 0, "epochs": 3, "step": 0, "steps": 0}}, "</progress>training<"),
        ({**TRAINING, "state": "finished"}, 'value="300"'),
        ({**TRAINING, "state": "failed", "failure": "Label <9>"}, "<pre>Label &lt;9&gt;</pre>"),
    ],
)
def test_every_state_is_shown(fit, expected):
    assert expected in render(fit)


def executed(verbose: int, folder: Path) -> list[str]:
    """The HTML in the output of a notebook's only cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL.format(verbose=verbose))])
    NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(folder)}}).execute(env=dict(os.environ))
    return ["".join(output["data"].get("text/html", "")) for output in notebook.cells[0].outputs if "data" in output]


def test_a_notebook_shows_the_fit_and_its_epochs(tmp_path):
    (shown,) = executed(1, tmp_path)
    assert "finished after" in shown
    assert shown.count("<tr>") == 4  # names, and three epochs


def test_verbose_0_is_quiet_in_a_notebook(tmp_path):
    assert executed(0, tmp_path) == []
