"""The first thing a user runs, as it stands."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,2048]"])
def test_quickstart_reaches_its_accuracy(master):
    command = [ROOT / "scripts" / "quickstart", "--master", master]
    result = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert result.returncode == 0, result.stderr
    accuracy = re.search(r"test accuracy: ([0-9.]+)", result.stdout)
    assert accuracy and float(accuracy[1]) >= 0.985, result.stdout
    output = ROOT / "build" / "quickstart"
    assert json.loads((output / "history.json").read_text())
    assert json.loads((output / "trace.json").read_text())["traceEvents"]
    assert (output / "learning-curves.png").stat().st_size > 0
