"""The data sets that are made, not fetched, and what all data sets share. Those from the network: tests/e2e."""

import hashlib
import itertools
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

DATASETS = Path(__file__).resolve().parents[2] / "datasets"
sys.path.insert(0, str(DATASETS))

import captioning  # noqa: E402, they are programs, not a package
import dataset  # noqa: E402
import fish  # noqa: E402
import generate  # noqa: E402
import idx  # noqa: E402
import packages  # noqa: E402


def run(name: str, output: Path, *options: object) -> Path:
    command = [sys.executable, DATASETS / f"{name}.py", "--output", output, *options]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return output


def test_a_data_set_that_is_there_is_left_alone_and_another_is_made_anew(tmp_path):
    made = []
    for source in ("one", "one", "two"):
        dataset.make(tmp_path / "set", source, lambda folder: made.append(dataset.empty_folder(folder)))
    assert len(made) == 2
    with pytest.raises(KeyError):
        dataset.make(tmp_path / "set", "three", lambda folder: {}["fails"])
    dataset.make(tmp_path / "set", "two", lambda folder: made.append(folder))
    assert len(made) == 3, "what a failed run left is not taken for a data set"


def test_a_package_with_another_checksum_is_refused(tmp_path):
    (tmp_path / "some.tgz").write_bytes(b"content")
    checksum = hashlib.sha256(b"content").hexdigest()
    assert packages.only("some@1", checksum, tmp_path, "*.tgz").name == "some.tgz"
    with pytest.raises(SystemExit, match="some@1: the package is not the one expected: sha256 ed7002"):
        packages.only("some@1", "0" * 64, tmp_path, "*.tgz")


def test_an_unreachable_registry_is_said_in_a_sentence(tmp_path):
    with pytest.raises(SystemExit, match="some@1: the registry cannot be reached"):
        packages.run("some@1", ["sh", "-c", "echo getaddrinfo ENOTFOUND >&2; exit 1"], tmp_path)


def test_idx_files_of_another_shape_are_refused():
    content = b"\0\0\x08\x02" + (2).to_bytes(4, "big") + (3).to_bytes(4, "big") + bytes(range(6))
    assert idx.decode("file", content, (2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(SystemExit, match=r"not the file expected: file, dimensions \(2, 3\), expected \(3, 2\)"):
        idx.decode("file", content, (3, 2))


def features_of(picture: np.ndarray) -> list[float]:
    """How long, how full and how patterned the bright spot of a picture is."""
    bright = picture > 105
    points = np.argwhere(bright)
    narrow, wide = np.sqrt(np.linalg.eigvalsh(np.cov(points.T)))
    full = len(points) / (4 * np.pi * narrow * wide)
    edges = np.abs(np.diff(bright.astype(int), axis=0)).sum() / len(points)
    return [narrow / wide, full, edges]


def test_fish_have_their_shape_and_can_be_told_apart(tmp_path):
    folder = run("fish", tmp_path / "fish", "--rows", 216)
    sets = {}
    for split, rows in (("train", 180), ("test", 36)):
        table = pq.read_table(folder / split)
        labels = np.array(table["label"])
        assert table.num_rows == rows and np.bincount(labels, minlength=9).tolist() == [rows // 9] * 9
        pixels = [np.frombuffer(image, np.uint8) for image in table["image"].to_pylist()]
        assert {image.size for image in pixels} == {fish.HEIGHT * fish.WIDTH}
        sets[split] = np.array([features_of(image.reshape(fish.HEIGHT, fish.WIDTH)) for image in pixels]), labels
    (known, labels), (asked, wanted) = sets["train"], sets["test"]
    scale = known.std(axis=0)
    nearest = np.linalg.norm((asked[:, None] - known) / scale, axis=2).argmin(axis=1)
    assert (labels[nearest] == wanted).mean() > 0.6, "a ninth by chance"


def test_captions_follow_from_the_features_and_the_words_so_far(tmp_path):
    folder = run("captioning", tmp_path / "captioning", "--images", 60)
    words = (folder / "_vocabulary.txt").read_text().split("\n")[:-1]
    assert len(words) == captioning.WORDS == len(set(words))
    captions = {row["image"]: row for row in pq.read_table(folder / "captions").to_pylist()}
    assert sum(row["isTest"] for row in captions.values()) == 12
    for split, images in (("train", 48), ("test", 12)):
        rows = pq.read_table(folder / split).to_pylist()
        steps = {(row["image"], *row["tokens"]): row["next"] for row in rows}
        assert len(steps) == len(rows), "one next word for the same words of the same image"
        assert {len(row["features"]) for row in rows} == {4096} and {len(row["tokens"]) for row in rows} == {34}
        by_image = {image: list(group) for image, group in itertools.groupby(rows, lambda row: row["image"])}
        assert len(by_image) == images
        for image, group in by_image.items():
            said = [words[row["next"]] for row in group]
            assert said == [*captions[image]["captions"][0].split(), "<end>"]
            assert group[0]["features"] == captions[image]["features"]


def test_a_linear_look_at_the_features_tells_the_scene():
    grammar = captioning.Grammar(seed=3)
    for _ in range(20):
        scene = grammar.scene()
        features = grammar.features(scene)
        assert {kind: int((traces @ features).argmax()) for kind, traces in grammar.traces.items()} == scene


COLUMNS = "x:float*7,label:int<10,image:binary*12,name:string*3,day:date,at:timestamp,odd:boolean?0.25,ids:long*2<5"


def test_generated_rows_do_not_depend_on_files_and_row_groups(tmp_path):
    whole = run("generate", tmp_path / "whole", "--rows", 5300, "--columns", COLUMNS)
    parts = run("generate", tmp_path / "parts", "--rows", 5300, "--columns", COLUMNS, "--files", 3, "--group-rows", 700)
    table = pq.read_table(whole)
    assert table.equals(pq.read_table(parts)) and table.num_rows == 5300
    files = [pq.ParquetFile(file).metadata for file in sorted(parts.glob("*.parquet"))]
    assert [file.num_rows for file in files] == [1766, 1767, 1767]
    assert [file.row_group(0).num_rows for file in files] == [700] * 3
    assert set(table["label"].to_pylist()) == set(range(10))
    assert {len(row) for row in table["x"].to_pylist()} == {7} and {len(row) for row in table["image"].to_pylist()} == {
        12
    }
    assert 0.2 < table["odd"].null_count / 5300 < 0.3
    other = run("generate", tmp_path / "other", "--rows", 5300, "--columns", COLUMNS, "--seed", 2)
    assert not table.equals(pq.read_table(other))


def test_generating_more_rows_takes_no_more_memory(tmp_path):
    peaks = []
    for rows in (20000, 200000):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        run("generate", tmp_path / "rows", "--rows", rows, "--compression", "none")
        peaks.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before)
    assert peaks[1] < 20 * 1024, f"KiB more than the largest child so far: {peaks}"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("x", "not a column; write NAME:TYPE"),
        ("x:flaot", "unknown type: flaot, known: byte"),
        ("x:float<3", "only whole numbers take a limit: x:float<3"),
    ],
)
def test_a_column_that_cannot_be_generated_is_refused(column, message):
    with pytest.raises(SystemExit, match=message):
        generate.Column.parse(column)
