"""The reference pages say what is so: every param with its default, every layer, and messages that exist."""

import json
import re
from pathlib import Path

import pytest

from bloomery import (
    NeuralNetClassifier,
    NeuralNetEstimator,
    NeuralNetRegressor,
    layers,
    losses,
    metrics,
    optimizers,
    schedules,
)

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ESTIMATORS = {"C": NeuralNetClassifier, "R": NeuralNetRegressor, "E": NeuralNetEstimator}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def tables(document: str, *titles: str) -> list[list[str]]:
    """The rows of all tables of a document whose first columns have these titles."""
    rows: list[list[str]] = []
    wanted = False
    for line in (DOCS / document).read_text().splitlines():
        if not line.startswith("|"):
            wanted = False
        elif tuple(cells(line)[: len(titles)]) == titles:
            wanted = True
        elif wanted and not line.startswith("|---"):
            rows.append(cells(line))
    return rows


def text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture(scope="module")
def engine_defaults(spark) -> dict[str, str]:
    """What the engine takes for a param that is not set."""
    network = {"layers": [{"kind": "Input", "shape": [2]}, {"kind": "Dense", "units": 2, "activation": "softmax"}]}
    task = {"network": network, "training": {}, "columns": {"features": "f", "label": "l"}}

    def told(**training: object) -> dict:
        text = json.dumps(task | {"training": training})
        return json.loads(spark.sparkContext._jvm.io.bloomery.engine.Engine.describe(text).json())

    plain, watched = told(), told(earlyStoppingPatience=1)
    defaults = {**plain["training"], "shuffleBuffer": plain["shuffleBuffer"]}
    defaults |= {name: watched["training"][name] for name in ("earlyStoppingMinDelta", "restoreBestWeights")}
    defaults["optimizer"] = defaults["optimizer"]["kind"]
    del defaults["loss"], defaults["metrics"]  # by the network
    return {name: text_of(value) for name, value in defaults.items()}


@pytest.mark.parametrize("letter", ESTIMATORS)
def test_every_param_is_on_the_page_with_its_default(spark, engine_defaults, letter):
    estimator = ESTIMATORS[letter]()
    rows = {row[0].strip("`"): row for row in tables("params.md", "param", "of", "default", "effect")}
    listed = {name for name, row in rows.items() if letter in row[1].split()}
    assert listed == {param.name for param in estimator.params}
    for param in estimator.params:
        written = rows[param.name][2]
        default = text_of(estimator.getOrDefault(param)) if estimator.hasDefault(param) else None
        # What explainParams says is what the engine takes, which has no default of what Spark alone knows.
        assert engine_defaults.get(param.name, default) == default, param.name
        of_this = re.search(rf"\b{letter}: `([^`]*)`", written) or re.fullmatch(r"`([^`]*)`", written)
        if default is not None:
            assert of_this, f"{param.name} has the default {default}, the page says: {written}"
            assert of_this[1] == default, param.name
        else:
            assert not of_this, f"{param.name} has no default, the page says: {written}"


@pytest.mark.parametrize("document", ["estimators.md", "checkpoints.md", "training-json.md", "getting-started.md"])
def test_other_pages_name_the_same_defaults(spark, engine_defaults, document):
    classifier = NeuralNetClassifier()
    known = {param.name for estimator in ESTIMATORS.values() for param in estimator().params}
    rows = tables(document, "param", "default") + tables(
        document, "param of the estimator, key of `training`", "default"
    )
    assert rows
    for row in rows:
        names = re.findall(r"`(\w+)`", row[0])
        assert set(names) <= known, document
        for name, written in zip(names, re.split(r", (?=`)", row[1]), strict=False):
            if classifier.hasParam(name) and classifier.hasDefault(name):
                default = text_of(classifier.getOrDefault(name))
            else:
                default = engine_defaults.get(name)
            numbers = re.fullmatch(r'`?"?([\w.]+)"?`?', written)
            if default is not None and numbers and written != "required":
                assert numbers[1] in (default, default.removesuffix(".0")), f"{name} in {document}"


def names_of(module, base: type) -> list[str]:
    return [
        name
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base and not name.startswith("_")
    ]


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("network-json.md", [name for name in layers.__all__ if name not in ("Layer", "Tensor")]),
        (
            "losses.md",
            [kind.kind for kind in vars(losses).values() if isinstance(kind, type) and hasattr(kind, "kind")],
        ),
        (
            "losses.md",
            [kind.kind for kind in vars(metrics).values() if isinstance(kind, type) and hasattr(kind, "kind")],
        ),
        ("training-json.md", [name.lower() for name in names_of(optimizers, optimizers.Optimizer)]),
        ("training-json.md", names_of(schedules, schedules.Schedule)),
    ],
    ids=["layers", "losses", "metrics", "optimizers", "schedules"],
)
def test_every_name_is_on_its_page(document, names):
    text = (DOCS / document).read_text()
    assert names
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def said() -> str:
    """All texts of the sources, those that are put together of several pieces in one."""
    texts = []
    constants: dict[str, str] = {}
    for pattern in (
        "native/**/*.cc",
        "native/**/*.h",
        "spark-connector/src/main/**/*.*",
        "spark-connector/python/**/*.py",
    ):
        for path in ROOT.glob(pattern):
            texts.append(path.read_text())
            constants |= dict(re.findall(r'val (\w+) = "([^"]*)"', texts[-1]))
    whole = "\n".join(texts).replace('\\"', "\0")
    whole = re.sub(r'"\s*\+?\s*[sf]?"', "", whole)
    whole = re.sub(r"\$\{?(?:\w+\.)?(\w+)\}?", lambda name: constants.get(name[1], name[0]), whole)
    return whole.replace("\0", '"')


def test_messages_that_are_explained_are_messages_that_are_said():
    everything = said()
    messages = [
        message
        for row in tables("troubleshooting.md", "message", "why, and what to do")
        for message in re.findall(r"`([^`]+)`", row[0])
    ]
    theirs = [row[0] for row in tables("troubleshooting.md", "message of Spark", "why, and what to do")]
    assert len(messages) > 60
    assert theirs
    for message in messages:
        pieces = [piece for piece in message.split("…") if len(piece.strip(" ,:;.'()")) > 1]
        assert pieces, message
        for piece in pieces:
            assert piece.strip() in everything, f"nobody says {piece!r}, of the message {message!r}"
