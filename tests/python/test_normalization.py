"""A Normalization layer whose statistics come from the rows, wherever they lie: columns of wildly different scale."""

import numpy
import pytest
from conftest import classifier

from bloomery import Sequential
from bloomery import layers as L

COLUMNS = ["income", "rate", "age", "constant"]


@pytest.fixture(scope="module")
def people(spark):
    """Features as NumPy has them, and the same rows as a DataFrame of five partitions with a label they tell."""
    random = numpy.random.default_rng(3)
    noise = random.normal(0, 1, (1000, 3))
    features = numpy.column_stack(
        [5e6 + 1e5 * noise[:, 0], 2e-6 * noise[:, 1], 40 + 12 * noise[:, 2], numpy.full(1000, 7.25)]
    ).astype("float32")
    labels = (noise.sum(axis=1) > 0).astype(int)
    rows = [(*map(float, row), int(label)) for row, label in zip(features, labels, strict=True)]
    schema = ", ".join(f"{name} double" for name in COLUMNS) + ", label int"
    return features, spark.createDataFrame(rows, schema).repartition(5).persist()


def network(*layers) -> Sequential:
    return Sequential(L.Input(4), *layers, L.Dense(8, "relu"), L.Dense(2, "softmax"))


def fitted(frame, layers, **params):
    options = {"featuresCols": COLUMNS, "epochs": 8, "batchSize": 32, **params}
    return classifier(network=network(*layers), **options).fit(frame)


def accuracy(model, frame):
    return model.transform(frame).selectExpr("avg(if(prediction = label, 1.0, 0.0))").first()[0]


@pytest.mark.parametrize("params", [{"numWorkers": 1}, {"numWorkers": 2}, {"numWorkers": 2, "dataMemory": 0}])
def test_statistics_are_those_that_numpy_finds_and_make_the_rows_learnable(people, params):
    features, frame = people
    model = fitted(frame, [L.Normalization()], **params)
    exact = features.astype("float64")
    weights = model.weights()
    numpy.testing.assert_allclose(weights["normalization/mean"], exact.mean(axis=0), rtol=1e-6, atol=1e-12)
    numpy.testing.assert_allclose(weights["normalization/variance"], exact.var(axis=0), rtol=1e-6)
    assert accuracy(model, frame) > 0.93


def test_saved_models_keep_their_statistics(people, tmp_path):
    _, frame = people
    model = fitted(frame, [L.Normalization()], epochs=1)
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = type(model).load(str(tmp_path / "model"))
    few = frame.orderBy("income").limit(3)  # whose own mean and variance are others
    assert loaded.transform(few).select("probability").collect() == model.transform(few).select("probability").collect()
    numpy.testing.assert_array_equal(loaded.weights()["normalization/mean"], model.weights()["normalization/mean"])


def test_given_statistics_are_used_as_they_are(people):
    features, frame = people
    given = L.Normalization(mean=features.mean(axis=0), variance=features.var(axis=0))
    model = fitted(frame, [given])
    numpy.testing.assert_array_equal(model.weights()["normalization/mean"], features.mean(axis=0))
    assert accuracy(model, frame) > 0.93


def test_without_normalization_the_same_network_does_not_learn(people):
    _, frame = people
    assert accuracy(fitted(frame, []), frame) < 0.8
