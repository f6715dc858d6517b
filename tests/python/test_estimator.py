"""Networks of several inputs and outputs, from Python."""

import json

import pytest

import bloomery
from bloomery import Model, NeuralNetEstimator, NeuralNetModel, losses, metrics
from bloomery import layers as L


@pytest.fixture(scope="module")
def pairs(spark, blobs):
    return blobs.selectExpr(
        "features as numbers",
        "features[0] as x",
        "features[1] as y",
        "array('a', 'b', 'c')[label] as word",
        "features[0] + features[1] as total",
    ).persist()


def estimator(**params):
    numbers, place = L.Input(4, name="numbers"), L.Input(2, name="place")
    species = L.Dense(3, "softmax", name="species")(L.Dense(16, "relu")(numbers))
    total = L.Dense(1, name="total")(place)
    defaults = {
        "network": Model([numbers, place], [species, total]),
        "inputCols": {"place": ["x", "y"]},
        "labelCols": {"species": {"column": "word", "vocabulary": ["a", "b", "c"]}, "total": "total"},
        "loss": {"species": losses.CategoricalCrossentropy(), "total": losses.MeanSquaredError()},
        "lossWeights": {"total": 2.0},
        "metrics": {"species": ["accuracy", metrics.TopKCategoricalAccuracy(2, name="top2")], "total": ["mae"]},
        "optimizer": "adam",
        "learningRate": 0.02,
        "batchSize": 16,
        "epochs": 8,
        "numWorkers": 2,
        "seed": 1,
        "verbose": 0,
    }
    return NeuralNetEstimator(**{**defaults, **params})


def test_metrics_may_be_of_all_outputs(spark, pairs):
    last = estimator(metrics=["mae", metrics.MeanSquaredError()], epochs=1).fit(pairs).summary.history[-1]
    assert {"species_mae", "total_mae", "species_mse", "total_mse"} <= set(last["metrics"])


def test_params_are_json(spark):
    made = estimator(output_cols={"total": "sum"})
    assert json.loads(made.getInputCols()) == {"place": ["x", "y"]}
    assert json.loads(made.getLabelCols())["species"] == {"column": "word", "vocabulary": ["a", "b", "c"]}
    assert json.loads(made.getMetrics())["species"][1] == {"kind": "top_k_categorical_accuracy", "k": 2, "name": "top2"}
    assert json.loads(made.getOutputCols()) == {"total": "sum"}


def test_fits_transforms_evaluates_and_comes_back(spark, pairs, tmp_path):
    model = estimator(outputCols={"total": "sum"}).fit(pairs)
    last = model.summary.history[-1]
    assert set(last["metrics"]) == {"species_loss", "total_loss", "species_accuracy", "species_top2", "total_mae"}
    assert last["metrics"]["species_accuracy"] > 0.9
    predicted = model.transform(pairs)
    assert predicted.columns == [*pairs.columns, "prediction_species", "sum"]
    assert predicted.where("abs(sum - total) < 0.5").count() > 550
    assert set(model.evaluate(pairs)) == {"loss", *last["metrics"]}
    model.write().save(str(tmp_path / "model"))
    loaded = NeuralNetModel.load(str(tmp_path / "model"))
    assert loaded.transform(pairs).collect() == predicted.collect()


def test_class_weights_are_given_by_output(spark, pairs):
    made = estimator(classWeights={"species": {0: 5, 2: 0.5}}, epochs=1)
    assert json.loads(made.getClassWeights()) == {"species": {"0": 5.0, "2": 0.5}}
    weighted, plain = (each.fit(pairs).summary.history[0]["loss"] for each in (made, estimator(epochs=1)))
    assert weighted != plain


def test_outputs_may_have_the_names_of_options(spark, pairs):
    numbers = L.Input(4, name="numbers")
    kind = L.Dense(3, "softmax", name="kind")(numbers)
    column = L.Dense(1, name="a_column")(numbers)
    made = NeuralNetEstimator(
        network=Model(numbers, [kind, column]),
        labelCols={"kind": {"column": "word", "vocabulary": ["a", "b", "c"]}, "a_column": "total"},
        loss={"kind": "categorical_crossentropy", "a_column": losses.Huber(2.0)},
        outputCols={"kind": "said", "a_column": "guessed"},
        verbose=0,
    )
    assert made.fit(pairs).transform(pairs).columns == [*pairs.columns, "said", "guessed"]
    assert json.loads(made.setLoss({"kind": "huber", "delta": 2.0}).getLoss()) == {"kind": "huber", "delta": 2.0}


def test_unknown_names_suggest_the_nearest(spark, pairs):
    with pytest.raises(bloomery.UserError, match=r"Unknown input in inputCols: plaice; did you mean place\?"):
        estimator(inputCols={"plaice": "x"}).fit(pairs)
