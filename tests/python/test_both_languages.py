"""What Scala saved, Python loads, and the other way round: the same params, predictions and weights, bit for bit.

Scala's side is Scala's own classes, writers and readers; no wrapper of ours has a part in it.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import SQLTransformer
from pyspark.sql import DataFrame

import bloomery
from bloomery import Model, Sequential
from bloomery import layers as L

STATEMENT = "SELECT *, sqrt(w) AS half FROM __THIS__"


def two_outputs() -> Model:
    numbers, place = L.Input(4, name="numbers"), L.Input(2, name="place")
    species = L.Dense(3, "softmax", name="species")(L.Dense(8, "relu")(numbers))
    return Model([numbers, place], [species, L.Dense(1, name="price")(place)])


@dataclass
class Case:
    estimator: str
    model: str
    params: dict[str, Any]


TRAINING = {
    "optimizer": '{"kind": "adam", "beta1": 0.8}',
    "learningRate": 0.03,
    "batchSize": 16,
    "epochs": 2,
    "seed": 5_000_000_000,
    "shuffle": False,
    "weightCol": "w",
    "validationIndicatorCol": "held",
    "stepTimeout": 50.0,
    "numWorkers": 2,
    "verbose": 0,
}
CASES = [
    Case(
        "NeuralNetClassifier",
        "NeuralNetClassificationModel",
        {
            "network": Sequential(L.Input(4), L.Dense(8, "relu"), L.Dense(3, "softmax")).to_json(),
            "featuresCols": [
                "a",
                '{"column": "word", "vocabulary": ["one", "two"], "outOfVocabulary": "last"}',
                "b",
                "c",
            ],
            "labelCol": "word",
            "labelVocabulary": ["zero", "one", "two"],
            "classWeights": '{"1": 2.5}',
            "thresholds": [0.2, 0.3, 0.5],
            "probabilityCol": "p",
            "metrics": ["accuracy", '{"kind": "top_k_categorical_accuracy", "k": 2}'],
        },
    ),
    Case(
        "NeuralNetRegressor",
        "NeuralNetRegressionModel",
        {
            "network": Sequential(L.Input(4), L.Dense(2)).to_json(),
            "featuresCol": "numbers",
            "labelCols": ["a", "b"],
            "loss": '{"kind": "huber", "delta": 0.5}',
            "predictionCol": "guess",
        },
    ),
    Case(
        "NeuralNetEstimator",
        "NeuralNetModel",
        {
            "network": two_outputs().to_json(),
            "inputCols": '{"place": ["a", "b"]}',
            "labelCols": '{"species": "label", "price": "c"}',
            "loss": '{"species": "categorical_crossentropy", "price": "mae"}',
            "lossWeights": '{"price": 0.5}',
            "outputCols": '{"price": "guess"}',
        },
    ),
]


@pytest.fixture(scope="module")
def rows(spark) -> DataFrame:
    random = numpy.random.default_rng(2)
    points = random.normal(0, 1, (120, 4))
    words = ["zero", "one", "two"]
    made = [
        (point.tolist(), *point[:3].tolist(), i % 3, words[i % 3], 1.0 + i % 2, i % 5 == 0)
        for i, point in enumerate(points)
    ]
    types = "numbers array<float>, a double, b double, c double, label int, word string, w double, held boolean"
    return spark.createDataFrame(made, types).repartition(2).persist()


@pytest.fixture(params=CASES, ids=lambda case: case.estimator)
def case(request) -> Case:
    return request.param


class Scala:
    """Spark's JVM, without any wrapper."""

    def __init__(self, spark):
        self.spark, self.jvm, self.gateway = spark, spark.sparkContext._jvm, spark.sparkContext._gateway

    def array(self, kind: Any, values: list[Any]) -> Any:
        array = self.gateway.new_array(kind, len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array

    def estimator(self, case: Case) -> Any:
        made = getattr(self.jvm.io.bloomery, case.estimator)()
        for name, value in {**TRAINING, **case.params}.items():
            if isinstance(value, list):
                kind = self.jvm.java.lang.String if isinstance(value[0], str) else self.jvm.double
                value = self.array(kind, value)
            getattr(made, "set" + name[0].upper() + name[1:])(value)
        return made

    def pipeline(self, *stages: Any) -> Any:
        first = self.jvm.org.apache.spark.ml.feature.SQLTransformer().setStatement(STATEMENT)
        return self.jvm.org.apache.spark.ml.Pipeline().setStages(
            self.array(self.jvm.org.apache.spark.ml.PipelineStage, [first, *stages])
        )

    def load(self, name: str, path: str) -> Any:
        owner = self.jvm.org.apache.spark.ml if name.startswith("Pipeline") else self.jvm.io.bloomery
        return getattr(owner, name).load(path)

    def predicted(self, model: Any, rows: DataFrame) -> list[Any]:
        return DataFrame(model.transform(rows._jdf), self.spark).collect()


@pytest.fixture
def scala(spark) -> Scala:
    return Scala(spark)


def scala_params(stage: Any) -> dict[str, Any]:
    """Those that have a value: set or default."""

    def plain(value: Any) -> Any:
        return value if isinstance(value, (str, int, float, bool)) else list(value)

    return {
        each.name(): (plain(stage.getOrDefault(each)), stage.isSet(each))
        for each in stage.params()
        if stage.isDefined(each)
    }


def python_params(stage: Any) -> dict[str, Any]:
    return {each.name: (stage.getOrDefault(each), stage.isSet(each)) for each in stage.params if stage.isDefined(each)}


def assert_same(in_scala: Any, in_python: Any) -> None:
    """The same uid, class, known params and values."""
    assert in_scala.uid() == in_python.uid
    assert in_scala.getClass().getSimpleName() == type(in_python).__name__
    assert {each.name() for each in in_scala.params()} == {each.name for each in in_python.params}
    assert scala_params(in_scala) == python_params(in_python)


def assert_same_model(in_scala: Any, in_python: Any) -> None:
    assert_same(in_scala, in_python)
    assert bytes(in_scala.weights()) == bytes(in_python._java_obj.weights())
    assert json.loads(in_scala.network().toJson()) == json.loads(in_python.network.to_json())
    assert in_scala.summary().toJson() == in_python._java_obj.summary().toJson()


def test_python_loads_what_scala_saved(scala, case, rows, tmp_path):
    estimator = scala.estimator(case)
    estimator.write().save(str(tmp_path / "estimator"))
    assert_same(estimator, getattr(bloomery, case.estimator).load(str(tmp_path / "estimator")))

    model = estimator.fit(rows._jdf)
    model.write().save(str(tmp_path / "model"))
    loaded = getattr(bloomery, case.model).load(str(tmp_path / "model"))
    assert_same_model(model, loaded)
    assert scala.predicted(model, rows) == loaded.transform(rows).collect()


def test_scala_loads_what_python_saved(scala, case, rows, tmp_path):
    estimator = getattr(bloomery, case.estimator)(**TRAINING, **case.params)
    estimator.write().save(str(tmp_path / "estimator"))
    assert_same(scala.load(case.estimator, str(tmp_path / "estimator")), estimator)

    model = estimator.fit(rows)
    model.write().save(str(tmp_path / "model"))
    loaded = scala.load(case.model, str(tmp_path / "model"))
    assert_same_model(loaded, model)
    assert scala.predicted(loaded, rows) == model.transform(rows).collect()


def test_python_loads_pipelines_that_scala_saved(scala, case, rows, tmp_path):
    pipeline = scala.pipeline(scala.estimator(case))
    pipeline.write().save(str(tmp_path / "pipeline"))
    assert_same(pipeline.getStages()[1], Pipeline.load(str(tmp_path / "pipeline")).getStages()[1])

    fitted = pipeline.fit(rows._jdf)
    fitted.write().save(str(tmp_path / "fitted"))
    loaded = PipelineModel.load(str(tmp_path / "fitted"))
    assert_same_model(fitted.stages()[1], loaded.stages[1])
    assert scala.predicted(fitted, rows) == loaded.transform(rows).collect()


def test_scala_loads_pipelines_that_python_saved(scala, case, rows, tmp_path):
    estimator = getattr(bloomery, case.estimator)(**TRAINING, **case.params)
    pipeline = Pipeline(stages=[SQLTransformer(statement=STATEMENT), estimator])
    pipeline.write().save(str(tmp_path / "pipeline"))
    assert_same(scala.load("Pipeline", str(tmp_path / "pipeline")).getStages()[1], estimator)

    fitted = pipeline.fit(rows)
    fitted.write().save(str(tmp_path / "fitted"))
    loaded = scala.load("PipelineModel", str(tmp_path / "fitted"))
    assert_same_model(loaded.stages()[1], fitted.stages[1])
    assert scala.predicted(loaded, rows) == fitted.transform(rows).collect()


def test_both_languages_train_the_same_bits(scala, case, rows):
    in_python = getattr(bloomery, case.estimator)(**TRAINING, **case.params).fit(rows)
    in_scala = scala.estimator(case).fit(rows._jdf)
    assert bytes(in_scala.weights()) == bytes(in_python._java_obj.weights())
