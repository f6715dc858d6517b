"""TensorBoard reads what a fit writes for it."""

import pytest
from conftest import classifier
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import bloomery


def scalars(folder) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_epochs_are_where_keras_would_put_them(blobs, tmp_path):
    folder = tmp_path / "logs"
    model = classifier(tensorboardDir=str(folder), validationIndicatorCol="held", epochs=3).fit(blobs)
    history = model.summary.history
    training, validation = scalars(folder / "train"), scalars(folder / "validation")
    assert set(training) == {"epoch_loss", "epoch_accuracy", "epoch_learning_rate", "epoch_samples_per_second"}
    assert set(validation) == {"epoch_loss", "epoch_accuracy"}
    for epoch, (step, value) in zip(history, training["epoch_loss"], strict=True):
        assert step == epoch["epoch"] - 1
        assert value == pytest.approx(epoch["loss"], rel=1e-6)
    last = history[-1]["validation"]["metrics"]["accuracy"]
    assert validation["epoch_accuracy"][-1][1] == pytest.approx(last, rel=1e-6)


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_job(blobs, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(bloomery.UserError, match=r"tensorboardDir cannot be written to: .*file.*; choose another one"):
        classifier(tensorboardDir=str(tmp_path / "file")).fit(blobs)
