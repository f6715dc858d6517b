"""Trainings that end before their last epoch, Python functions that end them, and models that others begin with."""

import os
import signal
import threading
import time

import pytest
from conftest import assert_nothing_is_alive, classifier, small_network
from pyspark.ml import Pipeline
from pyspark.ml.feature import IndexToString, StringIndexer

import bloomery
from bloomery import NeuralNetClassifier


def test_early_stopping(spark, blobs):
    model = classifier(
        epochs=9,
        validationIndicatorCol="held",
        early_stopping_patience=1,
        early_stopping_min_delta=1000.0,
        monitor="validation_accuracy",
        restoreBestWeights=True,
    ).fit(blobs)
    assert len(model.summary.history) == 2
    assert "validation_accuracy did not get better for 1 epochs" in model.summary.events[-1]["text"]


def test_callbacks_are_told_of_every_epoch_and_may_stop(spark, blobs):
    told = []
    model = classifier(epochs=5, callbacks=[told.append, lambda epoch: epoch["epoch"] == 3]).fit(blobs)
    assert told == model.summary.history
    assert [epoch["epoch"] for epoch in told] == [1, 2, 3]
    # A single function will do, copies keep it, and None means none.
    told.clear()
    estimator = classifier(epochs=2, callbacks=told.append)
    assert len(Pipeline(stages=[estimator]).fit(blobs).stages[0].summary.history) == 2
    assert len(told) == 2
    assert len(estimator.setCallbacks(None).fit(blobs).summary.history) == 2
    assert len(told) == 2
    for wrong in (["print"], 3):
        with pytest.raises(TypeError, match="A callback must be callable"):
            classifier(callbacks=wrong)


def test_an_exception_of_a_callback_is_raised_as_itself(spark, blobs):
    error = ValueError("enough")

    def fail(epoch):
        raise error

    with pytest.raises(ValueError, match="enough") as caught:
        classifier(callbacks=[fail]).fit(blobs)
    assert caught.value is error
    assert_nothing_is_alive(spark)
    assert len(classifier(epochs=1).fit(blobs).summary.history) == 1


def test_training_begins_with_another_model(spark, blobs, model, tmp_path):
    rest = {"epochs": 1, "optimizer": "sgd", "learningRate": 1e-30}
    from_model = classifier(initialModel=model, **rest).fit(blobs)
    model.write().save(str(tmp_path / "model"))
    from_path = classifier(initial_model=str(tmp_path / "model"), **rest).fit(blobs)
    for fitted in (from_model, from_path):
        for name, values in fitted.weights().items():
            assert (values == model.weights()[name]).all(), name


def test_an_estimator_that_holds_a_model_is_not_saved(spark, model, tmp_path):
    with pytest.raises(bloomery.UserError, match="save it, and set initialModel to its path"):
        classifier(initialModel=model).save(str(tmp_path / "estimator"))


@pytest.mark.parametrize(
    "drop",
    [
        lambda estimator: estimator.setInitialModel(None),
        lambda estimator: estimator.setParams(initial_model=None),
        lambda estimator: estimator.clear(estimator.initialModel),
    ],
)
def test_none_drops_a_model_that_is_held(spark, blobs, model, drop):
    rest = {"epochs": 1, "optimizer": "sgd", "learningRate": 1e-30}
    estimator = classifier(initialModel=model, **rest)
    drop(estimator)
    anew = classifier(**rest).fit(blobs).weights()
    for name, values in estimator.fit(blobs).weights().items():
        assert (values == anew[name]).all(), name


def test_session_defaults(spark, blobs):
    spark.conf.set("spark.bloomery.epochs", "3")
    spark.conf.set("spark.bloomery.probabilityCol", "p")
    try:
        fitted = NeuralNetClassifier(network=small_network(), verbose=0).fit(blobs)
    finally:
        spark.conf.unset("spark.bloomery.epochs")
        spark.conf.unset("spark.bloomery.probabilityCol")
    assert len(fitted.summary.history) == 3
    assert fitted.getProbabilityCol() == "p"
    assert "p" in fitted.transform(blobs).columns


def test_words_as_labels_and_thresholds(spark, blobs):
    named = blobs.selectExpr("features", "array('x', 'y', 'z')[label] as word")
    stages = [
        StringIndexer(inputCol="word", outputCol="index"),
        classifier(labelCol="index", thresholds=[0.3, 0.3, 0.4]),
        IndexToString(inputCol="prediction", outputCol="predicted"),
    ]
    fitted = Pipeline(stages=stages).fit(named)
    assert fitted.transform(named).where("predicted = word").count() > 550
    assert sorted(fitted.stages[1].getLabels()) == ["x", "y", "z"]
    with pytest.raises(bloomery.UserError, match="Wrong number of thresholds: 2, classes of the network: 3"):
        fitted.stages[1].setThresholds([0.5, 0.5]).transform(fitted.stages[0].transform(named))


def test_ctrl_c_ends_a_fit(spark, blobs):
    before = signal.getsignal(signal.SIGINT)
    pressed = []

    def press(epoch):
        if not pressed and epoch["epoch"] == 2:
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    for callbacks in ([press], None):
        pressed.clear()
        if callbacks is None:
            press_later = threading.Timer(3, lambda: press({"epoch": 2}))
            press_later.start()
        with pytest.raises(KeyboardInterrupt) as raised:
            classifier(epochs=1_000_000, callbacks=callbacks).fit(blobs)
        assert time.monotonic() - pressed[0] < 5
        assert raised.value.__suppress_context__
        assert signal.getsignal(signal.SIGINT) is before
        assert not spark.sparkContext.statusTracker().getActiveJobsIds()
        assert_nothing_is_alive(spark)
    assert len(classifier(epochs=1).fit(blobs).summary.history) == 1
