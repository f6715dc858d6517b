"""The estimator: its params, its keywords, and a fit on small data."""

import inspect
import json

import numpy
import pytest
from conftest import assert_nothing_is_alive, classifier, small_network
from pyspark.errors import PythonException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql.functions import array, col, element_at, lit, udf, when

import bloomery
from bloomery import (
    Model,
    NeuralNetClassifier,
    NeuralNetEstimator,
    NeuralNetRegressor,
    Sequential,
    losses,
    metrics,
    optimizers,
    schedules,
)
from bloomery import layers as L

ESTIMATORS = [NeuralNetClassifier, NeuralNetRegressor, NeuralNetEstimator]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_params_are_the_jvms(spark, kind):
    ours = kind()
    theirs = {param.name(): param.doc() for param in ours._java_obj.params()}
    assert {param.name for param in ours.params} == set(theirs)
    for param in ours.params:
        # Spark itself does not say the same of thresholds in both languages.
        assert param.name == "thresholds" or param.doc.rstrip(".") == theirs[param.name].rstrip("."), param.name
    keywords = set(inspect.signature(kind).parameters)
    assert keywords == {*theirs, "callbacks"}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_defaults_are_the_jvms(spark, monkeypatch, kind):
    ours = kind()
    theirs = {param.name: value for param, value in ours._defaultParamMap.items()}
    java = ours._java_obj
    assert theirs == {p.name(): java.getOrDefault(p) for p in java.params() if java.hasDefault(p)}
    assert ours.getEpochs() == 1
    assert "learningRate" not in theirs  # the optimizer's
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # where no JVM can be asked
    assert {param.name: value for param, value in kind()._defaultParamMap.items()} == theirs


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_param_has_keyword_setter_and_getter(spark, kind):
    values = {str: "text", int: 3, float: 0.5, bool: True}
    special = {
        "network": small_network(),
        "metrics": ["accuracy"],
        "optimizer": "sgd",
        "loss": "mse",
        "classWeights": '{"0": 2.0}',
        "featuresCols": ["a", '{"column": "b"}'],
        "labelVocabulary": ["cat", "dog"],
        "thresholds": [0.2, 0.8],
    }
    if kind is NeuralNetEstimator:
        del special["metrics"]
    if kind is NeuralNetRegressor:
        special["labelCols"] = ["a", "b"]
    kinds = {"whole_number": int, "large_whole_number": int, "number": float, "toBoolean": bool, "toString": str}
    for param in kind().params:
        value = special.get(param.name) or values[kinds.get(param.typeConverter.__name__, str)]
        capital = param.name[0].upper() + param.name[1:]
        by_keyword = kind(**{param.name: value})
        by_setter = getattr(kind(), f"set{capital}")(value)
        for estimator in (by_keyword, by_setter):
            assert getattr(estimator, f"get{capital}")() == value, param.name


def test_keywords_may_be_snake_case(spark):
    estimator = NeuralNetClassifier(features_col="image", global_batch_size=96, num_workers=2)
    assert (estimator.getFeaturesCol(), estimator.getGlobalBatchSize(), estimator.getNumWorkers()) == ("image", 96, 2)


def test_unknown_keyword_suggests_the_nearest(spark):
    with pytest.raises(TypeError, match=r"^Unknown keyword of NeuralNetClassifier: epoch, nearest known: epochs$"):
        NeuralNetClassifier(epoch=3)
    with pytest.raises(TypeError, match="nearest known: batchSize"):
        NeuralNetClassifier(batch_sise=3)


def test_same_param_twice_is_refused(spark):
    with pytest.raises(TypeError, match="has a param twice: batchSize"):
        NeuralNetClassifier(batchSize=1, batch_size=2)


def test_none_is_a_param_that_is_not_set(spark, blobs):
    unset = {param.name: None for param in NeuralNetClassifier().params if param.name not in ("network", "verbose")}
    estimator = NeuralNetClassifier(network=small_network(), verbose=0, **unset)
    assert not any(estimator.isSet(name) for name in unset)
    assert estimator.getEpochs() == 1
    assert len(estimator.fit(blobs).summary.history) == 1
    estimator.setEpochs(3).setWeightCol("held").setParams(epochs=None, weight_col=None)
    assert (estimator.getEpochs(), estimator.isSet("weightCol")) == (1, False)
    with pytest.raises(bloomery.UserError, match="No network"):
        NeuralNetClassifier(network=None, verbose=0).fit(blobs)


@pytest.mark.parametrize(("param", "limit"), [("batchSize", 2**31), ("seed", 2**63), ("dataMemory", 2**63)])
def test_numbers_that_the_jvm_cannot_keep_are_refused(spark, param, limit):
    assert classifier(**{param: limit - 1}).getOrDefault(param) == limit - 1
    with pytest.raises(TypeError, match=f"Too large: {limit}, give a whole number from -{limit} to {limit - 1}"):
        classifier(**{param: limit})


@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64, numpy.int32, numpy.int64])
def test_numbers_of_numpy_are_numbers(spark, kind):
    estimator = classifier(learningRate=kind(2), batchSize=kind(8), early_stopping_min_delta=kind(1))
    assert (estimator.getLearningRate(), estimator.getBatchSize()) == (2.0, 8)
    grid = ParamGridBuilder().addGrid(estimator.learningRate, [kind(2)]).build()
    assert grid == [{estimator.learningRate: 2.0}]
    assert json.loads(classifier(loss=losses.Huber(kind(2))).getLoss()) == {"kind": "huber", "delta": 2}
    assert json.loads(classifier(class_weights={1: kind(2)}).getClassWeights()) == {"1": 2.0}
    with pytest.raises(TypeError, match=r"Could not convert 0\.5 to int"):
        classifier(batchSize=numpy.float32(0.5))


def test_positional_arguments_are_refused(spark):
    with pytest.raises(TypeError):
        NeuralNetClassifier(small_network())


def test_optimizer_may_be_a_dict(spark):
    estimator = NeuralNetClassifier(optimizer={"kind": "adam", "learning_rate": 0.01, "beta_1": 0.8})
    assert json.loads(estimator.getOptimizer()) == {"kind": "adam", "learningRate": 0.01, "beta1": 0.8}


def test_features_may_be_several_columns_with_options(spark, blobs):
    carrier = {"column": "carrier", "vocabulary": ["a", "b", "c"], "out_of_vocabulary": "last"}
    frame = blobs.selectExpr("features", "label", "array('a', 'b', 'z')[label] as carrier")
    network = Sequential(L.Input(5), L.Dense(8, activation="relu"), L.Dense(3, activation="softmax"))
    estimator = classifier(network=network, featuresCols=["features", carrier], nulls="zero")
    assert json.loads(estimator.getFeaturesCols()[1]) == {
        "column": "carrier",
        "vocabulary": ["a", "b", "c"],
        "outOfVocabulary": "last",
    }
    predicted = estimator.fit(frame).transform(frame)
    assert predicted.columns == [*frame.columns, "prediction", "probability", "rawPrediction"]
    assert predicted.filter("prediction = label").count() > 0.9 * frame.count()


def test_optimizer_may_be_an_object_with_a_schedule(spark, blobs):
    step = schedules.StepDecay(0.02, every_epochs=1, factor=0.5)
    estimator = NeuralNetClassifier(network=small_network(), optimizer=optimizers.RMSprop(step), epochs=3, verbose=0)
    estimator.setClipNorm(1.0).setEmaMomentum(0.5).setBackwardPassesPerStep(2)
    fitted = estimator.fit(blobs)
    assert [epoch["learningRate"] for epoch in fitted.summary.history] == [0.02, 0.01, 0.005]


def test_losses_and_metrics_may_have_options(spark):
    estimator = NeuralNetClassifier(
        loss=losses.Huber(2.0),
        metrics=["accuracy", metrics.TopKCategoricalAccuracy(3, name="top3"), {"kind": "precision"}],
        class_weights={0: 1, 2: 2.5},
    )
    assert json.loads(estimator.getLoss()) == {"kind": "huber", "delta": 2.0}
    names, top, precision = estimator.getMetrics()
    assert names == "accuracy"
    assert json.loads(top) == {"kind": "top_k_categorical_accuracy", "k": 3, "name": "top3"}
    assert json.loads(precision) == {"kind": "precision"}
    assert json.loads(estimator.getClassWeights()) == {"0": 1.0, "2": 2.5}
    smoothed = NeuralNetClassifier(loss={"kind": "categorical_crossentropy", "label_smoothing": 0.1}).getLoss()
    assert json.loads(smoothed) == {"kind": "categorical_crossentropy", "labelSmoothing": 0.1}
    assert repr(losses.BinaryCrossentropy(label_smoothing=0.1)) == "BinaryCrossentropy(labelSmoothing=0.1)"
    with pytest.raises(TypeError, match="nearest known: delta"):
        losses.Huber(detla=1.0)


def test_class_weights_may_be_a_list(spark, blobs):
    by_class = classifier(epochs=1, classWeights={0: 5, 2: 0.5}).fit(blobs)
    listed = classifier(epochs=1, classWeights=[5, 1, 0.5]).fit(blobs)
    assert listed.summary.history[0]["loss"] == by_class.summary.history[0]["loss"]
    with pytest.raises(bloomery.UserError, match="2"):
        classifier(classWeights=[5, 1]).fit(blobs)


def test_fit_with_another_loss_and_metrics(spark, blobs):
    fitted = classifier(
        loss=losses.MeanSquaredError(),
        metrics=["accuracy", metrics.F1Score(), metrics.TopKCategoricalAccuracy(2, name="top2"), "r2"],
        classWeights={0: 2.0},
    ).fit(blobs)
    last = fitted.summary.history[-1]["metrics"]
    assert set(last) == {"accuracy", "f1", "top2", "r2"}
    assert last["accuracy"] > 0.9 and last["f1"] > 0.9 and last["top2"] >= last["accuracy"]


def test_learning_rate_alone_is_the_default_optimizers(spark, blobs):
    fitted = NeuralNetClassifier(network=small_network(), learningRate=0.02, verbose=0).fit(blobs)
    assert [epoch["learningRate"] for epoch in fitted.summary.history] == [0.02]


def test_fit_learns_and_reports_each_epoch(spark, model):
    history = model.summary.history
    assert [epoch["epoch"] for epoch in history] == [1, 2, 3, 4, 5]
    assert all(epoch["samples"] == 480 for epoch in history)
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["metrics"]["accuracy"] > 0.95
    assert history[-1]["validation"]["metrics"]["accuracy"] > 0.95
    assert model.summary.numWorkers == 2
    assert all(epoch["samplesPerSecond"] == pytest.approx(480 / epoch["seconds"]) for epoch in history)
    assert all(epoch["peakMemoryBytes"] > 2**26 for worker in model.summary.workerHistory for epoch in worker)
    phases = model.summary.phases
    assert list(phases) == ["preparing", "starting", "loading", "training", "validation", "returning"]
    assert sum(phases.values()) == pytest.approx(model.summary.totalSeconds)
    assert phases["training"] == pytest.approx(sum(epoch["seconds"] for epoch in history))
    assert phases["validation"] == pytest.approx(sum(epoch["validationSeconds"] for epoch in history)) != 0


def test_trace_dir_gets_a_timeline_and_the_summary_what_was_sent(spark, blobs, tmp_path):
    summary = classifier(epochs=2, traceDir=str(tmp_path)).fit(blobs).summary
    (file,) = tmp_path.glob("trace-*.json")
    events = json.loads(file.read_text())["traceEvents"]
    assert {event["pid"] for event in events if event["name"] == "dense backward"} == {0, 1}
    assert {event["pid"] for event in events if event["name"] == "bucket 1"} == {0, 1}
    assert json.loads(summary.trace)["traceEvents"] == events
    for epoch in (epoch for worker in summary.workerHistory for epoch in worker):
        assert epoch["bytesSent"] > 0
        parts = epoch["exposedAllreduceSeconds"] + epoch["hiddenAllreduceSeconds"]
        assert parts == pytest.approx(epoch["allreduceSeconds"])


def test_fit_takes_a_network_that_is_a_graph(spark, blobs):
    x = L.Input(4)
    shared = L.Dense(8, "relu", name="shared")
    y = L.Add()([shared(x), shared(L.Dense(4, "tanh")(x))])
    network = Model(x, L.Dense(3, "softmax")(y), name="graph")
    model = classifier(network=network).fit(blobs)
    assert model.summary.history[-1]["metrics"]["accuracy"] > 0.9
    assert model.network == network
    assert sorted(model.weights()) == [
        f"{layer}/{weight}" for layer in ("dense", "dense_1", "shared") for weight in ("bias", "kernel")
    ]


def test_nothing_native_is_left_after_a_fit(spark, model):
    assert_nothing_is_alive(spark)


def test_same_seed_gives_the_same_bits(spark, blobs):
    first, second = (classifier(epochs=2, seed=5).fit(blobs).weights() for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"featuresCol": "feature"}, "featuresCol names a column that is not there: feature"),
        ({"labelCol": "features"}, "labelCol names a column of the wrong type"),
        ({"optimizer": "adadelt"}, "nearest known: adadelta"),
        ({"optimizer": optimizers.SGD(schedules.CosineDecay(0.1))}, "learningRate and the optimizer's schedule"),
        ({"clipNorm": -1.0}, "Not positive: clipNorm -1"),
        ({"metrics": ["acuracy"]}, "nearest known: accuracy"),
        ({"loss": "categorical_crosentropy"}, "nearest known: categorical_crossentropy"),
        ({"loss": losses.Huber(-1.0)}, "Not positive: delta -1"),
        ({"classWeights": {7: 1.0}}, "Class out of range: 7, classes: 3"),
        ({"batchSize": 0}, "batchSize"),
        ({"globalBatchSize": 32}, "globalBatchSize"),
        ({"numWorkers": 3}, "More workers than task slots"),
        ({"network": Sequential(L.Input(5), L.Dense(3, "softmax"))}, "row"),
        ({"network": small_network(classes=2)}, "Label out of range"),
    ],
)
def test_bad_input_is_a_user_error_without_a_java_stack(spark, blobs, params, sentence):
    with pytest.raises(bloomery.UserError) as caught:
        classifier(**params).fit(blobs)
    assert sentence in str(caught.value)
    assert "\tat " not in str(caught.value)
    assert_nothing_is_alive(spark)


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        ([L.Input(4)], "A network is a bloomery.Sequential or bloomery.Model, or its JSON: "),
        (type("Keras", (), {"get_config": dict})(), "A model of Keras: give what bloomery.from_keras makes of it"),
    ],
)
def test_only_a_network_will_do(spark, network, sentence):
    with pytest.raises(TypeError, match=sentence):
        classifier(network=network)


@pytest.mark.parametrize("call", ["fit", "describe"])
def test_only_a_frame_of_spark_will_do(spark, call):
    with pytest.raises(TypeError, match=r"A DataFrame of Spark is wanted: .* not builtins.list"):
        getattr(classifier(), call)([1, 2])


def test_network_must_be_set(spark, blobs):
    with pytest.raises(bloomery.UserError, match="No network"):
        NeuralNetClassifier(verbose=0).fit(blobs)


def test_null_label_names_partition_and_row(spark, blobs):
    holed = blobs.withColumn("label", when(col("held"), None).otherwise(col("label")))
    with pytest.raises(bloomery.UserError, match=r"row \d+ of partition \d+"):
        classifier().fit(holed)


def test_a_file_that_spark_cannot_read_is_one_sentence(spark, blobs, tmp_path):
    folder = tmp_path / "blobs"
    blobs.repartition(2).write.parquet(str(folder))
    files = spark.read.parquet(str(folder)).where(col("label") >= 0)
    gone = max(folder.glob("*.parquet"))
    gone.unlink()
    with pytest.raises(bloomery.UserError) as caught:
        classifier().fit(files)
    assert str(caught.value) == f"File is no longer there; refresh the DataFrame and fit again: file:{gone}"
    assert_nothing_is_alive(spark)


def test_exception_of_a_python_udf_arrives_as_itself(spark, blobs):
    @udf("int")
    def broken(label):
        raise ValueError("no such digit")

    with pytest.raises(PythonException, match="no such digit") as caught:
        classifier().fit(blobs.withColumn("label", broken(col("label"))))
    assert "\tat " not in str(caught.value)


def test_works_in_a_pipeline_that_is_saved_and_loaded(spark, blobs, tmp_path):
    fitted = Pipeline(stages=[classifier(epochs=2)]).fit(blobs)
    fitted.write().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert isinstance(loaded.stages[0], bloomery.NeuralNetClassificationModel)
    assert (
        loaded.transform(blobs).select("prediction").collect() == fitted.transform(blobs).select("prediction").collect()
    )


def test_works_in_a_cross_validator(spark, blobs):
    estimator = classifier(epochs=1, numWorkers=1)
    grid = ParamGridBuilder().addGrid(estimator.learningRate, [1e-6, 0.05]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    tuned = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2).fit(blobs)
    assert tuned.avgMetrics[1] > tuned.avgMetrics[0]
    assert isinstance(tuned.bestModel, bloomery.NeuralNetClassificationModel)


def counted(spark, rows):
    """The same rows, and how many of them were read."""
    read = spark.sparkContext.accumulator(0)

    @udf("int")
    def counting(label):
        read.add(1)
        return label

    return rows.withColumn("label", counting(col("label"))), read


def training_jobs(spark) -> int:
    """How many jobs of this session were trainings."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return sum("TrainJob" in jobs.apply(i).name() for i in range(jobs.size()))


def test_a_cross_validator_trains_all_param_maps_of_a_fold_in_one_job(spark, blobs):
    estimator = classifier(epochs=2)
    grid = ParamGridBuilder().addGrid(estimator.learningRate, [1e-6, 0.05, 0.01]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    before = training_jobs(spark)
    tuned = CrossValidator(
        estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, parallelism=3, seed=4
    ).fit(blobs)
    assert training_jobs(spark) == before + 2 + 1  # one for each fold, and one for the best on all rows
    assert len(tuned.avgMetrics) == 3
    assert tuned.avgMetrics[0] < min(tuned.avgMetrics[1:])
    assert isinstance(tuned.bestModel, bloomery.NeuralNetClassificationModel)
    assert_nothing_is_alive(spark)


def test_models_of_several_param_maps_are_those_of_separate_fits(spark, blobs):
    estimator = classifier(epochs=2, numWorkers=2)
    maps = [{estimator.learningRate: 0.02}, {estimator.epochs: 3, estimator.predictionCol: "guess"}, {}]
    rows, read = counted(spark, blobs)
    models = estimator.fit(rows, maps)
    assert read.value == 600
    assert [len(model.summary.history) for model in models] == [2, 3, 2]
    assert [model.getPredictionCol() for model in models] == ["prediction", "guess", "prediction"]
    for model, params in zip(models, maps, strict=True):
        alone = estimator.fit(blobs, params)
        assert model.uid == alone.uid
        for name, weights in alone.weights().items():
            assert (weights == model.weights()[name]).all()
    assert [index for index, _ in estimator.fitMultiple(blobs, maps)] == [0, 1, 2]


def test_callbacks_and_errors_of_several_param_maps(spark, blobs):
    told = []
    estimator = classifier(epochs=4, callbacks=[lambda epoch: told.append(epoch["epoch"]) or epoch["epoch"] == 2])
    models = estimator.fit(blobs, [{estimator.batchSize: size} for size in (10, 20)])
    assert told == [1, 2, 1, 2]
    assert [len(model.summary.history) for model in models] == [2, 2]
    with pytest.raises(bloomery.UserError, match=r"batchSize 0.*, param map 2 of 2 \(batchSize: 0\)"):
        estimator.fit(blobs, [{}, {estimator.batchSize: 0}])

    def angry(epoch):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        classifier(callbacks=[angry]).fit(blobs, [{}, {}])


def test_estimator_survives_saving(spark, tmp_path):
    estimator = classifier(epochs=7)
    estimator.save(str(tmp_path / "estimator"))
    loaded = NeuralNetClassifier.load(str(tmp_path / "estimator"))
    assert loaded.uid == estimator.uid
    assert loaded.getNetwork() == small_network()
    assert {p.name: v for p, v in loaded.extractParamMap().items()} == {
        p.name: v for p, v in estimator.extractParamMap().items()
    }


def test_fit_on_parquet_reads_the_files_itself(spark, blobs, tmp_path):
    path = str(tmp_path / "blobs")
    blobs.write.parquet(path)
    model = classifier().fitOnParquet(path)
    assert model.summary.input == "parquet: 600 rows in 3 row groups of 3 files"
    assert model.summary.history[-1]["metrics"]["accuracy"] > 0.9
    with pytest.raises(bloomery.UserError, match="featuresCol names a column that is not there: points"):
        classifier(featuresCol="points").fitOnParquet(path)
    assert_nothing_is_alive(spark)


def test_describe_tells_what_fit_would_do(spark, blobs):
    text = classifier(validationIndicatorCol="held", stepsPerEpoch=15).describe(blobs)
    assert text.startswith("Training    5 epochs on 2 workers, batches of 16 rows on each worker, 131 parameters\n")
    assert "label (int): label, one of 3 classes\n" in text
    assert "\nFirst step  while rows still come: the first epoch draws from a buffer of 2048 rows\n" in text
    with pytest.raises(bloomery.UserError, match="labelCol names a column that is not there: lable"):
        classifier(labelCol="lable").describe(blobs)


def test_a_plateau_of_validation_needs_validation_rows_before_any_job(spark, blobs):
    watching = optimizers.Adam(schedules.ReduceOnPlateau(0.01))
    with pytest.raises(bloomery.UserError, match="watches validation_loss, but no rows are for validation"):
        NeuralNetClassifier(network=small_network(), optimizer=watching, verbose=0).fit(blobs)


def test_class_weights_may_be_by_word(spark, blobs):
    fish = ["carp", "pike", "trout"]
    named = blobs.withColumn("label", element_at(array(*map(lit, fish)), col("label") + 1))
    by_class = classifier(epochs=1, classWeights={0: 5, 2: 0.5}).fit(blobs)
    by_word = classifier(epochs=1, labelVocabulary=fish, classWeights={"carp": 5, "trout": 0.5}).fit(named)
    assert by_word.summary.history[0]["loss"] == by_class.summary.history[0]["loss"]
    for weights, wanted in {"balanced": "count the rows of each label", '{"cod": 2}': "Unknown class.*: cod"}.items():
        with pytest.raises(bloomery.UserError, match=wanted):
            classifier(labelVocabulary=fish, classWeights=weights).fit(named)
