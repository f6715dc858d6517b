"""What scripts/package makes is all that a user needs beside Spark, in a folder that knows nothing of this one."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "build" / "dist"
VERSIONS = dict(
    re.findall(r'^(\w+)="?([^"\s]+(?: [\d.]+)*)"?', (ROOT / "scripts" / "versions").read_text(), re.MULTILINE)
)
SPARKS = [VERSIONS["PYSPARK_VERSION"], *VERSIONS["OTHER_PYSPARK_VERSIONS"].split()]


@pytest.fixture(scope="session")
def package() -> str:
    """What scripts/package printed."""
    return subprocess.run([ROOT / "scripts" / "package"], check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="session")
def wheel(package) -> Path:
    (found,) = DIST.glob("*.whl")
    return found


def environment(**more: str) -> dict[str, str]:
    """This one without anything that leads back into the repository."""
    kept = {key: value for key, value in os.environ.items() if not re.match(r"BLOOMERY|PYTHON|SPARK_HOME|PYSPARK", key)}
    return {**kept, "SPARK_LOCAL_IP": "127.0.0.1", **more}


def run(command: list[str | Path], folder: Path, text: str | None = None, **more: str) -> str:
    result = subprocess.run(
        command, cwd=folder, env=environment(**more), input=text, capture_output=True, text=True, timeout=800
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


def environment_of_links(folder: Path) -> Path:
    """An empty environment with pyspark and what it needs, linked from ours: as installed, without the download."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = Path(pyspark.__path__[0]).parent
    for name in ("pyspark", "py4j", "numpy", "numpy.libs"):
        (packages / name).symlink_to(ours / name)
    for name in ("pyspark", "py4j", "numpy"):
        (found,) = ours.glob(f"{name}-*.dist-info")
        (packages / found.name).symlink_to(found)
    return folder / "bin" / "python"


def install(python: Path, wheel: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--force-reinstall", "--no-deps"]
    run([python, "-m", "pip", "install", *options, wheel], wheel.parent)


def test_package_tells_what_it_needs_and_how_large_it_is(package):
    assert re.search(r"newest needed: CXXABI_1\.3\.\d+, GLIBC_2\.(\d\d), GLIBCXX_3\.4\.(\d\d)\n", package)
    assert re.search(r"\d+M\tbuild/dist/bloomery-.*\.whl", package)
    assert re.search(r"\d+M\tbuild/dist/maven/io/bloomery/.*\.jar", package)


def test_wheel_carries_one_jar_and_says_its_platform(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert len([name for name in names if name.startswith("bloomery/jars/") and name.endswith(".jar")]) == 1
    assert not [name for name in names if name.endswith((".cc", ".h", ".scala"))]
    assert wheel.name.endswith("manylinux_2_34_x86_64.whl")


def test_lines_of_the_readme_train_with_the_wheel_and_pyspark_alone(wheel, digits_folder):
    python = environment_of_links(digits_folder / "environment")
    install(python, wheel)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed = run([python, "-c", code], digits_folder)
    assert "probability" in printed
    assert (digits_folder / "build" / "mnist-model" / "weights.safetensors").exists()


SHELL = """
import io.bloomery._
val rows = spark.read.parquet("build/data/mnist/train")
val classifier = new NeuralNetClassifier().setNetwork(Zoo.mnistCnn).setFeaturesCol("image").setLabelCol("label")
val model = classifier.setBatchSize(48).setEpochs(1).setNumWorkers(2).setVerbose(0).fit(rows)
println("rows predicted: " + model.transform(rows).where("prediction >= 0").count())
model.exportOnnx("model.onnx")
"""


def test_spark_shell_takes_the_jar(package, digits_folder):
    (jar,) = (DIST / "maven").rglob("*.jar")
    home = Path(pyspark.__path__[0])
    printed = run(
        [home / "bin" / "spark-shell", "--master", "local[2]", "--jars", jar],
        digits_folder,
        SHELL,
        SPARK_HOME=str(home),
    )
    assert "rows predicted: 480" in printed
    assert (digits_folder / "model.onnx").stat().st_size > 4_000_000


@pytest.mark.timeout(600)
def test_scala_job_is_built_against_the_artifact_and_runs(package, digits_folder):
    (jar,) = (DIST / "maven").rglob("*.jar")
    home = Path(pyspark.__path__[0])
    project = ROOT / "examples" / "scala"
    # Maven keeps a copy of what it took from the project's own repository, which would be taken the next time.
    cached = Path.home() / ".m2" / "repository" / "io" / "bloomery" / "bloomery-spark_2.13" / "0.1.0"
    shutil.rmtree(cached, ignore_errors=True)
    build = ["mvn", "-B", "-q", f"-DbuildDirectory={digits_folder / 'target'}", "-f", project / "pom.xml", "package"]
    run(build, digits_folder)
    shutil.rmtree(cached, ignore_errors=True)
    job = [
        *(home / "bin" / "spark-submit", "--master", "local[2]", "--jars", jar, "--class", "MnistSubmit"),
        *(digits_folder / "target" / "mnist-submit-1.0.jar", "build/data/mnist", "model", "2", "8"),
    ]
    printed = run(job, digits_folder, SPARK_HOME=str(home))
    assert "8 epochs on 2 workers, batches of 96 rows over all workers" in printed
    accuracy = re.search(r"test accuracy: ([0-9.]+)", printed)
    assert accuracy and float(accuracy[1]) > 0.9, printed
    assert (digits_folder / "model" / "weights.safetensors").exists()


CLUSTER = """
import bloomery, pyspark, shutil, os
from bloomery import NeuralNetClassifier, Sequential, layers as L
builder = bloomery.spark_session_builder().master("local-cluster[2,1,1024]")
spark = builder.config("spark.ui.enabled", "false").getOrCreate()
rows = spark.read.parquet("build/data/mnist/train")
network = Sequential(L.Input(28, 28, 1, dtype="uint8", scale=1 / 255), L.Flatten(), L.Dense(10, activation="softmax"))
classifier = NeuralNetClassifier(network=network, featuresCol="image", batchSize=24, epochs=2, numWorkers=2, verbose=0)
model = classifier.fit(rows.repartition(3))
model.write().overwrite().save("model")
for way, data in {"parquet": rows, "mixed": rows.where("label < 9"), "columnar": rows, "rows": rows}.items():
    spark.conf.set("spark.bloomery.input.path", way)
    assert classifier.fit(data).summary.input.startswith(way + ": ")
spark.conf.unset("spark.bloomery.input.path")
loaded = bloomery.NeuralNetClassificationModel.load("model")
print("Spark", pyspark.__version__, "predicted", loaded.transform(rows).count())
work = os.path.join(os.environ["SPARK_HOME"], "work", spark.sparkContext.applicationId)
spark.stop()
shutil.rmtree(work)
"""


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", SPARKS)
def test_one_jar_runs_on_every_spark(wheel, digits_folder, version):
    subprocess.run([ROOT / "scripts" / "setup", "sparks"], check=True)
    python = ROOT / "build" / "deps" / f"spark-{version}-venv" / "bin" / "python"
    install(python, wheel)
    home = run([python, "-c", "import pyspark; print(pyspark.__path__[0])"], digits_folder).strip()
    assert f"Spark {version} predicted 480" in run([python, "-c", CLUSTER], digits_folder, SPARK_HOME=home)
