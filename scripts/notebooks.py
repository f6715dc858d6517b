"""Runs a notebook as it stands and keeps its outputs in it; scripts/notebooks calls this, and so do tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


def execute(path: Path, seconds: int = 600) -> Any:
    """The notebook with the outputs of this run, without what Spark logs, which is of one machine and one minute."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=seconds,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": path.parent}},
    )
    client.execute(env=dict(os.environ))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:]:
        nbformat.write(execute(Path(name)), name)
