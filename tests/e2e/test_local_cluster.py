"""A fit on two executor processes: it learns, leaves nothing behind, and stops when it is told to."""

import json
import threading
import time

import pytest
from conftest import alive_on_executors

import bloomery
from bloomery import NeuralNetClassifier, Sequential
from bloomery import layers as L

NETWORK = Sequential(
    L.Input(8, 8, 1, dtype="uint8", scale=1 / 255),
    L.Conv2D(8, 3, activation="relu"),
    L.MaxPool2D(2),
    L.Flatten(),
    L.Dense(4, activation="softmax"),
)


def classifier(**params) -> NeuralNetClassifier:
    return NeuralNetClassifier(
        network=NETWORK, featuresCol="image", optimizer="adam", metrics=["accuracy"], numWorkers=2, verbose=0, **params
    )


def assert_one_clock(events: list[dict], steps: int, seconds: float) -> None:
    """Both ranks are in the trace, and no sum of a step ends on one before it begins on the other."""
    spans = [event for event in events if event["ph"] == "X"]
    assert all(0 <= span["ts"] < (seconds + 1) * 1e6 for span in spans)
    threads = {(event["pid"], event["args"]["name"]) for event in events if event["name"] == "thread_name"}
    assert threads == {(rank, name) for rank in (0, 1) for name in ("ingest", "prefetch", "compute", "comm")}
    sums = [[span for span in spans if span["pid"] == rank and span["name"] == "bucket 1"] for rank in (0, 1)]
    assert [len(of_rank) for of_rank in sums] == [steps, steps]
    slack = 20_000  # microseconds: clocks are compared by messages
    for one, other in zip(*sums, strict=True):
        assert one["ts"] <= other["ts"] + other["dur"] + slack
        assert other["ts"] <= one["ts"] + one["dur"] + slack


def test_fit_and_transform_on_two_executors(spark, digits, tmp_path):
    model = classifier(batchSize=16, epochs=4, seed=2, traceDir=tmp_path.as_uri()).fit(digits)
    history = model.summary.history
    assert [epoch["samples"] for epoch in history] == [2000] * 4
    assert history[-1]["metrics"]["accuracy"] > 0.95
    assert model.transform(digits).where("prediction = label").count() > 1900
    (trace,) = tmp_path.glob("trace-*.json")
    steps = sum(epoch["steps"] for epoch in history)
    # Executors of one core: each rank is in a JVM of its own.
    assert_one_clock(json.loads(trace.read_text())["traceEvents"], steps, model.summary.totalSeconds)
    assert alive_on_executors(spark) == []


def test_user_error_on_an_executor_is_tried_once_and_leaves_nothing(spark, digits):
    with pytest.raises(bloomery.UserError, match=r"Label out of range: 40.*row \d+ of partition \d+"):
        classifier(epochs=1).fit(digits.selectExpr("image", "if(label = 3, 40, label) AS label"))
    assert alive_on_executors(spark) == []


def test_cancelled_fit_ends_within_two_seconds_and_leaves_nothing(spark, digits):
    cancelled = []

    def cancel():
        time.sleep(5)
        cancelled.append(time.monotonic())
        spark.sparkContext.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(bloomery.Cancelled):
        classifier(batchSize=4, epochs=1_000_000).fit(digits)
    took = time.monotonic() - cancelled[0]
    thread.join()
    assert took < 2
    deadline = cancelled[0] + 2
    while alive_on_executors(spark):
        assert time.monotonic() < deadline + 1  # asking takes time as well
    assert classifier(batchSize=16, epochs=1).fit(digits).summary.history[0]["samples"] == 2000
