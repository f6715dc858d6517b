"""Networks that tell values, from Python."""

import numpy
import pytest
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit

import bloomery
from bloomery import NeuralNetRegressionModel, NeuralNetRegressor, Sequential
from bloomery import layers as L


@pytest.fixture(scope="module")
def lines(spark, blobs):
    return blobs.selectExpr(
        "features", "features[0] + 2 * features[1] as total", "features[0] - features[2] as gap", "held"
    ).persist()


def regressor(units=1, **params):
    defaults = {
        "network": Sequential(L.Input(4), L.Dense(units)),
        "optimizer": "adam",
        "learningRate": 0.05,
        "batchSize": 16,
        "epochs": 48,
        "seed": 1,
        "verbose": 0,
    }
    return NeuralNetRegressor(**{**defaults, **params})


def test_one_target(spark, lines):
    model = regressor(label_col="total", metrics=["mae"], numWorkers=2, validationIndicatorCol="held").fit(lines)
    assert isinstance(model, NeuralNetRegressionModel)
    assert RegressionEvaluator(labelCol="total").evaluate(model.transform(lines)) < 0.1
    measured = model.evaluate(lines.where("held"))
    assert set(measured) == {"loss", "mae"}
    validation = model.summary.history[-1]["validation"]
    assert measured["loss"] == pytest.approx(validation["loss"], abs=1e-6)
    assert measured["mae"] == pytest.approx(validation["metrics"]["mae"], abs=1e-6)


def test_several_targets_and_saving(spark, lines, tmp_path):
    model = regressor(2, labelCols=["total", "gap"], predictionCol="guess").fit(lines)
    assert model.numTargets == 2
    assert model.weights()["dense/kernel"].shape == (4, 2)
    model.write().save(str(tmp_path / "model"))
    loaded = NeuralNetRegressionModel.load(str(tmp_path / "model"))
    rows = loaded.transform(lines).select("guess", "total", "gap").collect()
    guessed = numpy.array([row[0].toArray() for row in rows])
    assert numpy.abs(guessed - numpy.array([row[1:] for row in rows])).max() < 0.5
    assert loaded.getLabelCols() == ["total", "gap"]
    assert loaded.evaluate(lines)["loss"] < 0.05


def test_works_in_a_train_validation_split(spark, lines):
    estimator = regressor(labelCol="total", epochs=2)
    grid = ParamGridBuilder().addGrid(estimator.learningRate, [1e-6, 0.05]).build()
    split = TrainValidationSplit(
        estimator=estimator, estimatorParamMaps=grid, evaluator=RegressionEvaluator(labelCol="total"), seed=1
    )
    tuned = split.fit(lines)
    assert tuned.validationMetrics[1] < tuned.validationMetrics[0]
    assert isinstance(tuned.bestModel, NeuralNetRegressionModel)


def test_user_code_in_place_of_a_loss_or_metric_is_refused(spark):
    for params in ({"loss": lambda y, z: 0}, {"metrics": [max]}, {"optimizer": print}):
        with pytest.raises(TypeError, match="in user code are not offered in this version"):
            regressor(**params)


def test_wrong_columns_are_user_errors(spark, lines):
    with pytest.raises(bloomery.UserError, match="Both labelCol and labelCols are set"):
        regressor(labelCol="total", labelCols=["total"]).fit(lines)
