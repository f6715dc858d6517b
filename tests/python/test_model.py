"""The model: predictions, weights, saving, and the pictures of its summary."""

import numpy
import pytest
import safetensors.numpy
from conftest import assert_nothing_is_alive, classifier, small_network
from pyspark.errors import SparkRuntimeException
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.functions import col, when

import bloomery
from bloomery import NeuralNetClassificationModel


def test_transform_adds_three_columns(spark, model, blobs):
    predicted = model.transform(blobs)
    assert predicted.columns == [*blobs.columns, "prediction", "probability", "rawPrediction"]
    assert isinstance(predicted.schema["probability"].dataType, VectorUDT)
    rows = predicted.collect()
    assert len(rows) == 600
    for row in rows[:20]:
        assert abs(sum(row.probability) - 1) < 1e-5
        assert row.prediction == float(numpy.argmax(row.probability))
    assert sum(row.prediction == row.label for row in rows) > 570


def test_nothing_native_is_left_after_a_transform(spark, model, blobs):
    model.transform(blobs).collect()
    assert_nothing_is_alive(spark)


def test_output_columns_can_be_renamed(spark, model, blobs):
    renamed = model.copy().setPredictionCol("class").setProbabilityCol("p").setRawPredictionCol("raw")
    assert set(renamed.transform(blobs).columns) - set(blobs.columns) == {"class", "p", "raw"}


def test_transform_of_a_missing_column_is_a_user_error_at_the_call(spark, model, blobs):
    with pytest.raises(bloomery.UserError, match="featuresCol names a column that is not there: features"):
        model.transform(blobs.drop("features"))


def test_model_knows_network_classes_and_params(spark, model):
    assert model.network == small_network()
    assert model.numClasses == 3
    assert model.numParameters == 4 * 16 + 16 + 16 * 3 + 3
    assert model.getFeaturesCol() == "features"


def test_weights_give_the_predictions(spark, model, blobs):
    weights = model.weights()
    assert {name: value.shape for name, value in weights.items()} == {
        "dense/kernel": (4, 16),
        "dense/bias": (16,),
        "dense_1/kernel": (16, 3),
        "dense_1/bias": (3,),
    }
    row = model.transform(blobs).first()
    hidden = numpy.maximum(numpy.array(row.features) @ weights["dense/kernel"] + weights["dense/bias"], 0)
    raw = hidden @ weights["dense_1/kernel"] + weights["dense_1/bias"]
    numpy.testing.assert_allclose(row.rawPrediction.toArray(), raw, rtol=1e-4, atol=1e-5)
    numpy.testing.assert_allclose(row.probability.toArray(), numpy.exp(raw) / numpy.exp(raw).sum(), rtol=1e-4)


def test_saved_model_predicts_the_same(spark, model, blobs, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    loaded = NeuralNetClassificationModel.load(path)
    assert loaded.uid == model.uid
    assert loaded.summary.history == model.summary.history
    assert loaded.transform(blobs).collect() == model.transform(blobs).collect()


def test_saved_weights_are_safetensors(spark, model, tmp_path):
    model.save(str(tmp_path / "model"))
    (file,) = (tmp_path / "model").rglob("*.safetensors")
    read = safetensors.numpy.load_file(file)
    ours = model.weights()
    assert read.keys() == ours.keys()
    assert all((read[name] == ours[name]).all() for name in ours)


def test_saving_onto_something_needs_overwrite(spark, model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    with pytest.raises(OSError, match=r"already exists.*overwrite") as caught:
        model.save(path)
    assert len(str(caught.value).splitlines()) == 1
    assert type(caught.value.__context__).__name__ == "Py4JJavaError"
    model.write().overwrite().save(path)


def test_file_that_cannot_be_written_is_one_sentence(spark, model, tmp_path):
    refusal = r'^The model cannot be saved here: nowhere://model, No FileSystem for scheme "nowhere"; choose another'
    with pytest.raises(bloomery.UserError, match=refusal):
        model.save("nowhere://model")
    with pytest.raises(bloomery.UserError, match=r"^The ONNX file cannot be written to: nowhere://model\.onnx, "):
        model.exportOnnx("nowhere://model.onnx")


def test_what_another_class_saved_is_named(spark, model, tmp_path):
    model.save(str(tmp_path / "model"))
    for other in (bloomery.NeuralNetRegressionModel, bloomery.NeuralNetClassifier):
        with pytest.raises(bloomery.UserError, match="load it with NeuralNetClassificationModel, not"):
            other.load(str(tmp_path / "model"))


def test_rows_that_cannot_be_predicted_are_one_sentence(spark, model, blobs):
    holed = model.transform(blobs.withColumn("features", when(~col("held"), col("features"))))
    with pytest.raises(SparkRuntimeException) as caught:
        holed.collect()
    assert "Features are null: column 'features', row" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert_nothing_is_alive(spark)


@pytest.mark.parametrize("call", ["transform", "evaluate"])
def test_only_a_frame_of_spark_will_do(spark, model, call):
    with pytest.raises(TypeError, match=r"A DataFrame of Spark is wanted: .* not builtins.list"):
        getattr(model, call)([1, 2])


def test_foreign_folder_is_refused(spark, tmp_path):
    with pytest.raises(bloomery.UserError, match="Not a model of Bloomery"):
        NeuralNetClassificationModel.load(str(tmp_path))


def test_truncated_weights_are_refused(spark, model, tmp_path):
    model.save(str(tmp_path / "model"))
    (file,) = (tmp_path / "model").rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-10])
    for checksum in file.parent.glob(f".{file.name}.crc"):
        checksum.unlink()
    with pytest.raises(bloomery.UserError, match="has the wrong size"):
        NeuralNetClassificationModel.load(str(tmp_path / "model"))


def test_summary_plots_loss_and_metrics(spark, model, tmp_path):
    figure = model.summary.plot(str(tmp_path / "curves.png"))
    assert [axes.get_title() for axes in figure.axes] == ["loss", "accuracy"]
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_plot_of_one_epoch_counts_whole_epochs(spark, blobs):
    (axes, _) = classifier(epochs=1).fit(blobs).summary.plot().axes
    assert [tick for tick in axes.get_xticks() if 0.5 < tick < 1.5] == [1]


def test_plot_of_a_model_that_was_not_trained_is_refused(spark, model, tmp_path):
    model.save(str(tmp_path / "model"))
    weights = (tmp_path / "model" / "weights.safetensors").read_bytes()
    with pytest.raises(bloomery.UserError, match="No epochs to plot"):
        NeuralNetClassificationModel.of(model.network, weights).summary.plot()
