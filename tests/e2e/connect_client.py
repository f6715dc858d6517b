"""A client of Spark Connect, in an environment without a JVM of Spark. Usage: connect_client.py URL FOLDER

Fits, transforms, saves, loads and asks for what a client does not reach; prints what it saw as one line of JSON.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from pyspark.errors.exceptions.connect import SparkException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.param import Params
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession

import bloomery
from bloomery import (
    NeuralNetClassificationModel,
    NeuralNetClassifier,
    NeuralNetEstimator,
    NeuralNetRegressor,
    Sequential,
)
from bloomery import layers as L

VALUES = {
    "whole_number": 3,
    "large_whole_number": 3,
    "number": 0.5,
    "toBoolean": True,
    "toString": "text",
    "toListString": ["one", "two"],
    "toListFloat": [0.25, 0.75],
    "metric_texts": ["accuracy", "mae"],
    "column_texts": ["one", "two"],
}
NETWORK = Sequential(L.Input(2), L.Dense(8, activation="relu"), L.Dense(3, activation="softmax"))


def raised(action: Callable[[], Any]) -> str:
    """What the action raises: its kind and its sentence."""
    try:
        action()
    except bloomery.BloomeryError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def right(predicted: DataFrame) -> int:
    return predicted.where("prediction = label").count()


def by_name(stage: Params) -> dict[str, Any]:
    return {param.name: value for param, value in stage.extractParamMap().items()}


def with_every_param(kind: type[Any]) -> Any:
    """An estimator whose every param is set, to a value of its type."""
    estimator = kind()
    values = {param.name: VALUES.get(param.typeConverter.__name__, '{"a": 1}') for param in estimator.params}
    return estimator.setParams(**values | {"dataMemory": 1 << 33, "seed": (1 << 40) + 1})


def main() -> None:
    url, folder = sys.argv[1:]
    spark = SparkSession.builder.remote(url).getOrCreate()
    rows = spark.range(0, 600, 1, 3).selectExpr("id % 3 AS label", "id % 3 + 0.5D AS a", "id % 7 / 7.0D AS b")
    train = rows.selectExpr("array(a, b) AS features", "int(label) AS label")
    classifier = NeuralNetClassifier(
        network=NETWORK,
        optimizer="adam",
        learning_rate=0.05,
        metrics=["accuracy"],
        batchSize=10,
        epochs=6,
        numWorkers=2,
    )
    seen: dict[str, Any] = {}

    model = classifier.fit(train)
    seen["model"] = repr(model)
    seen["counts"] = [model.numClasses, model.numParameters]
    seen["sameNetwork"] = model.network == NETWORK
    seen["workers"] = model.summary.numWorkers
    seen["history"] = model.summary.history
    seen["right"] = right(model.transform(train))
    seen["otherColumn"] = model.setPredictionCol("class").transform(train).columns
    model.setPredictionCol("prediction")
    model.write().overwrite().save(f"{folder}/model")
    loaded = NeuralNetClassificationModel.load(f"{folder}/model")
    seen["loaded"] = [loaded.uid == model.uid, right(loaded.transform(train)), loaded.summary.to_json()]
    seen["loadedAgain"] = right(
        classifier.copy({classifier.initialModel: f"{folder}/model"}).fit(train).transform(train)
    )
    model.exportOnnx(f"{folder}/model.onnx")
    if not spark.version.startswith("4.0."):  # which keeps models in memory alone
        spark.client._delete_ml_cache([str(model._java_obj)], evict_only=True)
        seen["fromDisk"] = [right(model.transform(train)), model.summary.history == seen["history"]]
        limit = "spark.connect.session.connectML.mlCache.memoryControl.maxModelSize"
        spark.conf.set(limit, "100")
        try:
            classifier.fit(train)
        except SparkException as error:
            seen["tooLarge"] = [error.getCondition(), error.getMessageParameters()]
        spark.conf.unset(limit)

    for kind in (NeuralNetClassifier, NeuralNetRegressor, NeuralNetEstimator):
        estimator = with_every_param(kind)
        estimator.write().overwrite().save(f"{folder}/estimator")
        seen[f"params of {kind.__name__}"] = by_name(kind.load(f"{folder}/estimator")) == by_name(estimator)
    estimator = classifier.copy()
    estimator.clear(estimator.metrics)
    seen["cleared"] = estimator.isSet(estimator.metrics)

    pipeline = Pipeline(stages=[VectorAssembler(inputCols=["a", "b"], outputCol="features"), classifier]).fit(rows)
    pipeline.write().overwrite().save(f"{folder}/pipeline")
    seen["pipeline"] = right(PipelineModel.load(f"{folder}/pipeline").transform(rows))
    validator = CrossValidator(
        estimator=classifier,
        estimatorParamMaps=ParamGridBuilder().addGrid(classifier.learningRate, [1e-7, 0.05]).build(),
        evaluator=MulticlassClassificationEvaluator(metricName="accuracy"),
        numFolds=2,
        seed=1,
    )
    best = validator.fit(train)
    seen["crossValidation"] = [*best.avgMetrics, right(best.transform(train))]
    values = NeuralNetRegressor(network=Sequential(L.Input(2), L.Dense(1)), epochs=1).fit(train)
    seen["regressor"] = [values.numTargets, values.transform(train).columns]
    named = Sequential(L.Input(2, name="x"), L.Dense(1, name="y"))
    several = NeuralNetEstimator(
        network=named, inputCols={"x": "features"}, labelCols={"y": "label"}, loss={"y": "mse"}, epochs=1
    )
    seen["estimator"] = several.fit(train).transform(train).columns

    classifier.setFeaturesCol("nowhere")
    seen["errors"] = {
        "fit": raised(lambda: classifier.fit(train)),
        "load": raised(lambda: NeuralNetClassificationModel.load(f"{folder}/nowhere")),
        "weights": raised(model.weights),
        "evaluate": raised(lambda: model.evaluate(train)),
        "exportOnnx": raised(lambda: model.exportOnnx(folder)),
        "format": raised(lambda: model.write().option("format", "pmml").save(f"{folder}/model.pmml")),
        "network": raised(lambda: loaded.network),
        "trace": raised(lambda: model.summary.trace),
        "describe": raised(lambda: classifier.describe(train)),
        "layers": raised(NETWORK.summary),
        "callbacks": raised(lambda: classifier.setCallbacks(print)),
        "initialModel": raised(lambda: classifier.setParams(initialModel=model)),
        "of": raised(lambda: NeuralNetClassificationModel.of(NETWORK, b"")),
    }
    seen["application"] = spark.conf.get("spark.app.id")
    seen["py4j"] = "py4j" in sys.modules
    print(json.dumps(seen))


main()
