"""scripts/docs makes one site of documents, examples and both APIs; scripts/check builds its pages alone."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run([ROOT / "scripts" / "docs"], check=True)
    return SITE


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_site_has_pages_notebooks_and_both_apis(site):
    for document in (ROOT / "docs").glob("*.md"):
        assert (site / f"{document.stem}.html").exists()
    python = (site / "api-python.html").read_text()
    for name in ("NeuralNetClassifier", "Conv2D", "CosineDecay", "TrainingSummary", "setCheckpointPath", "PeerLost"):
        assert re.search(rf'id="bloomery[\w.]*\.{name}"', python), name
    for page in ("NeuralNetClassifier", "network/Conv2D", "optim/Adam", "training/Huber"):
        assert (site / "scala" / "io" / "bloomery" / f"{page}.html").exists()
    assert not (site / "scala" / "org" / "apache").exists()
    assert "<img" in (site / "examples" / "mnist.html").read_text()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_nothing_on_the_site_comes_from_elsewhere(site):
    """It is read on machines without the internet: style sheets, scripts and pictures are its own."""
    for page in site.rglob("*.html"):
        if page.relative_to(site).parts[0] != "scala":
            foreign = re.findall(
                r'(?:<script[^>]* src|<link[^>]* rel="stylesheet"[^>]* href|<img[^>]* src)="(https?:[^"]*)',
                page.read_text(),
            )
            assert foreign == [], page


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_link_that_leads_nowhere_is_an_error(site):
    broken = ROOT / "docs" / "broken-for-a-test.md"
    broken.write_text("# Broken\n\n[nowhere](columns.md#no-such-heading)\n")
    try:
        result = subprocess.run([ROOT / "scripts" / "docs", "pages"], capture_output=True, text=True)
    finally:
        broken.unlink()
    assert result.returncode == 1
    assert "no-such-heading" in result.stderr
