"""A client of Spark Connect, which has no JVM of Spark, against a real server with two executor processes."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
import pyspark
import pytest
from ports import free_port
from safetensors.numpy import load_file
from test_package import SPARKS

import bloomery

ROOT = Path(__file__).resolve().parents[2]
DEPS = ROOT / "build" / "deps"
LOG4J = ROOT / "examples" / "log4j2.properties"
KINDS = ["NeuralNetClassifier", "NeuralNetRegressor", "NeuralNetEstimator"]
PAGE = ROOT / "docs" / "spark-connect.md"


@pytest.fixture(scope="module")
def python() -> Path:
    """That of an environment with Spark's client alone."""
    subprocess.run([ROOT / "scripts" / "setup", "connect"], check=True)
    return DEPS / "connect-venv" / "bin" / "python"


@contextmanager
def server(home: Path, master: str, folder: Path, *options: str) -> Iterator[str]:
    """Where a server of Spark Connect listens, which is gone afterwards."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{LOG4J}",
        "spark.executor.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{LOG4J}",
    }
    command = [home / "bin" / "spark-submit", "--master", master, *options]
    command += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with open(folder / "server.log", "w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "SPARK_HOME": str(home)}, stdout=log, stderr=log
        )
        try:
            while not _listens(port):
                assert process.poll() is None, (folder / "server.log").read_text()[-4000:]
                time.sleep(0.2)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def run(python: Path, folder: Path, *arguments: str, **more: str) -> str:
    result = subprocess.run(
        [python, *arguments], cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, timeout=200
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


def with_packages_of(spark: Path, folder: Path) -> str:
    """A PYTHONPATH with pyspark's own package instead of its client's."""
    packages = folder / "packages"
    packages.mkdir()
    for name in ("pyspark", "py4j"):
        (packages / name).symlink_to(spark.parent / name)
    return f"{packages}{os.pathsep}{os.environ['PYTHONPATH']}"


def client(python: Path, url: str, folder: Path, **more: str) -> dict[str, Any]:
    """What connect_client.py saw."""
    program = Path(__file__).with_name("connect_client.py")
    seen: dict[str, Any] = json.loads(run(python, folder, str(program), url, str(folder), **more).splitlines()[-1])
    return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def seen(python, folder) -> Iterator[dict[str, Any]]:
    home = Path(pyspark.__path__[0])
    with server(home, "local-cluster[2,1,1024]", folder, "--jars", bloomery.jar()) as url:
        found = client(python, url, folder)
    yield found
    shutil.rmtree(home / "work" / found["application"])  # each executor had its copy of the jar


def test_client_has_no_jvm_of_spark(seen):
    assert not seen["py4j"]


JARLESS = """
import sys
import bloomery
from pyspark.sql import SparkSession
url, model, jar = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
rows = spark.range(600).selectExpr("array(id % 3 + 0.5D, id % 7 / 7.0D) AS features", "int(id % 3) AS label")
network = bloomery.Sequential(bloomery.layers.Input(2), bloomery.layers.Dense(3, activation="softmax"))
fit = lambda: bloomery.NeuralNetClassifier(network=network).fit(rows)
load = lambda: bloomery.NeuralNetClassificationModel.load(model)
def told(action):
    try:
        action()
    except bloomery.BloomeryError as error:
        print(type(error).__name__, error)
told(fit)
told(load)
spark.addArtifacts(jar)
told(fit)
print(load().transform(rows).where("prediction = label").count(), spark.conf.get("spark.app.id"))
"""


@pytest.mark.soak
def test_server_without_the_jar_is_named_in_one_sentence(python, seen, folder, tmp_path):
    home = Path(pyspark.__path__[0])
    with server(home, "local-cluster[1,1,1024]", tmp_path) as url:
        printed = run(python, tmp_path, "-c", JARLESS, url, str(folder / "model"), bloomery.jar()).splitlines()
    fit, load, artifact, last = printed[-4:]
    right, application = last.split()
    shutil.rmtree(home / "work" / application)
    assert fit == load
    assert fit.startswith(
        "BloomeryError The server of Spark Connect does not have Bloomery's classes: start it with --jars"
    )
    assert artifact.startswith(
        "UserError Bloomery's jar came with a session's artifacts, which all of Spark does not see"
    )
    assert int(right) == seen["right"]


def test_client_fits_on_the_servers_executors_and_transforms(seen):
    assert seen["workers"] == 2
    assert [epoch["samples"] for epoch in seen["history"]] == [600] * 6
    assert seen["history"][-1]["metrics"]["accuracy"] > 0.95
    assert seen["right"] > 570
    assert seen["otherColumn"] == ["features", "label", "class", "probability", "rawPrediction"]


def test_client_knows_what_the_server_tells_of_a_model(seen):
    assert re.fullmatch(r"NeuralNetClassificationModel: uid=NeuralNetClassifier_\w+, numClasses=3, .*", seen["model"])
    assert seen["counts"] == [3, 2 * 8 + 8 + 8 * 3 + 3]
    assert seen["sameNetwork"]


def test_model_is_saved_and_loaded_by_the_server(seen, folder):
    same_uid, right, summary = seen["loaded"]
    assert same_uid
    assert right == seen["right"]
    assert json.loads(summary)["epochs"] == seen["history"]
    assert load_file(folder / "model" / "weights.safetensors")["dense/kernel"].shape == (2, 8)
    assert seen["loadedAgain"] >= seen["right"]


def test_model_of_a_client_loads_in_a_classic_session(seen, folder, spark):
    model = bloomery.NeuralNetClassificationModel.load(str(folder / "model"))
    rows = spark.range(600).selectExpr("array(id % 3 + 0.5D, id % 7 / 7.0D) AS features", "int(id % 3) AS label")
    assert model.transform(rows).where("prediction = label").count() == seen["right"]
    assert model.evaluate(rows)["accuracy"] == pytest.approx(seen["right"] / 600)


def test_model_is_exported_by_the_server(seen, folder):
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    rows = numpy.arange(600)
    features = numpy.stack([rows % 3 + 0.5, rows % 7 / 7], axis=1).astype("float32")
    (probabilities,) = session.run(None, {session.get_inputs()[0].name: features})
    assert (probabilities.argmax(axis=1) == rows % 3).sum() == seen["right"]


def test_model_that_the_server_put_on_its_disk_comes_back(seen):
    assert seen["fromDisk"] == [seen["right"], True]


def test_model_beyond_the_servers_limit_is_refused_by_its_parameters_alone(seen):
    condition, values = seen["tooLarge"]
    assert condition == "CONNECT_ML.MODEL_SIZE_OVERFLOW_EXCEPTION"
    assert values["modelSize"] == str(4 * 51)  # a model that was trained would have the bytes of its history, too


@pytest.mark.parametrize("kind", KINDS)
def test_every_param_goes_to_the_server_and_back(seen, kind):
    assert seen[f"params of {kind}"]


def test_param_that_is_cleared_is_not_set(seen):
    assert not seen["cleared"]


def test_pipeline_and_cross_validator_work(seen):
    assert seen["pipeline"] > 570
    poor, good, right = seen["crossValidation"]
    assert poor < 0.8 < 0.95 < good
    assert right > 570


def test_other_estimators_work(seen):
    assert seen["regressor"] == [1, ["features", "label", "prediction"]]
    assert seen["estimator"] == ["features", "label", "prediction_y"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("fit", "UserError: featuresCol names a column that is not there: nowhere"),
        ("load", "UserError: No such model folder: "),
        ("weights", "reach weights(): save the model, whose folder has them as weights.safetensors"),
        ("evaluate", "reach evaluate: give transform's result to pyspark.ml.evaluation"),
        ("exportOnnx", "UserError: exportOnnx writes a file, and this is a folder"),
        ("format", "UserError: Unknown format of a model: pmml, known: onnx"),
        ("network", "reach the network of a loaded model: it is network.json of the model's folder"),
        ("trace", "reach traces: set traceDir"),
        ("describe", "reach describe: fit says before it reads a row what cannot work"),
        ("layers", "reach the engine, which describes networks: fit says what is wrong"),
        ("callbacks", "reach callbacks, which the server would have to call here: stop early with"),
        ("initialModel", "reach a model from another fit: save it, and set initialModel to its path"),
        ("of", "reach weights: make the model in a session of"),
    ],
)
def test_what_does_not_work_is_one_sentence(seen, call, sentence):
    assert sentence in seen["errors"][call]
    assert "\n" not in seen["errors"][call]
    if "reach" in sentence:
        assert seen["errors"][call].startswith("BloomeryError: Spark Connect does not let a client reach ")


def test_lines_of_the_page_run_with_a_server_of_their_own(python, folder):
    """They start a server in this machine's own Spark, to which the session's builder gives the jar.

    They end with a model at hand and without `spark.stop()`, as scripts do: pyspark alone would never end.
    """
    packages = with_packages_of(Path(pyspark.__path__[0]), folder)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    printed = run(python, folder, "-c", code, PYTHONPATH=packages)
    right = re.search(r"(\d+) of 600 are right", printed)
    assert right and int(right[1]) > 570, printed
    assert "(2, 8)" in printed


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", SPARKS[1:])
def test_client_works_with_every_spark(python, tmp_path, version):
    subprocess.run([ROOT / "scripts" / "setup", "sparks"], check=True)
    (home,) = (DEPS / f"spark-{version}-venv").glob("lib/python*/site-packages/pyspark")
    with server(home, "local[2]", tmp_path, "--jars", bloomery.jar()) as url:
        # A client is as old as its server: pyspark's own asks older ones for settings that they do not have.
        found = client(python, url, tmp_path, PYTHONPATH=with_packages_of(home, tmp_path))
    assert found["right"] > 570
    assert found["loaded"][:2] == [True, found["right"]]
    assert found["pipeline"] > 570
    assert found["crossValidation"][-1] > 570
    assert all(found[f"params of {kind}"] for kind in KINDS)
