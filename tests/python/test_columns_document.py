"""The examples of docs/columns.md, as they stand there, train on rows such as they speak of."""

import ast
import json
import re
from pathlib import Path

import pytest

import bloomery
from bloomery import Model, NeuralNetClassifier, Sequential
from bloomery import layers as L

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "columns.md").read_text()


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def test_several_columns_make_up_one_input(spark):
    code = examples("python")[0]
    network = Sequential(L.Input(15), L.Dense(2, "softmax"))
    classifier = eval(code, {"NeuralNetClassifier": NeuralNetClassifier, "network": network})
    rows = [
        (float(i), None if i % 4 == 0 else i, [0.5] * 12, ["AA", "DL", "UA", "XX"][i % 4], i % 3 == 0)
        for i in range(40)
    ]
    schema = "distance double, departure int, weather array<float>, carrier string, late boolean"
    frame = spark.createDataFrame(rows, schema)
    model = classifier.setVerbose(0).fit(frame)
    assert model.transform(frame).select("prediction").count() == 40
    without_weather = spark.createDataFrame([(1.0, 2, None, "AA", True)], schema)
    with pytest.raises(bloomery.UserError, match="column 'weather'"):
        classifier.fit(without_weather)


def test_tokens_are_padded_and_cut_off(spark):
    column = ast.literal_eval(examples("python")[1])
    network = Sequential(L.Input(3, dtype="int32"), L.Embedding(5, 4, mask_zero=True), L.LSTM(4), L.Dense(2, "softmax"))
    rows = [(["the", "fish"], 0), (["a", "unknown", "fish", "the"], 1), ([], 0)] * 5
    frame = spark.createDataFrame(rows, "words array<string>, label int")
    model = NeuralNetClassifier(network=network, featuresCols=[column], verbose=0).fit(frame)
    assert model.transform(frame).count() == 15


def test_columns_of_a_task_are_known_to_the_engine(spark):
    numbers, carrier = L.Input(2, name="numbers"), L.Input(1, dtype="int32", name="carrier")
    embedded = L.Flatten()(L.Embedding(16, 2)(carrier))
    network = Model([numbers, carrier], [L.Dense(2, "softmax")(L.Concatenate()([numbers, embedded]))])
    task = json.loads(examples("json")[0]) | {"network": json.loads(network.to_json()), "training": {}}
    described = spark.sparkContext._jvm.io.bloomery.engine.Engine.describe(json.dumps(task))
    assert json.loads(described.json())["streams"]
