"""Keras models become networks that compute the same.

The models of tests/golden/keras_models.py were written down with their weights, some rows and Keras's own outputs, so
that no test needs Keras; the soak test runs Keras itself.
"""

import copy
import json
import subprocess
from pathlib import Path

import numpy
import onnxruntime
import pytest

import bloomery
from bloomery import NeuralNetClassificationModel
from bloomery.keras_models import KerasNetwork
from bloomery.safetensors import bytes_of, tensors_of

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "keras"
KERAS = ROOT / "build" / "deps" / "keras-venv" / "bin" / "python"
MODELS = ("cnn", "reader", "two-inputs")


class Layer:
    def __init__(self, name: str, weights: list[numpy.ndarray]) -> None:
        self.name = name
        self._weights = weights

    def get_weights(self) -> list[numpy.ndarray]:
        return self._weights


class Written:
    """A Keras model as far as from_keras looks at it."""

    def __init__(self, name: str, folder: Path = GOLDEN) -> None:
        self.config = json.loads((folder / f"{name}.json").read_text())
        self.tensors = tensors_of((folder / f"{name}.safetensors").read_bytes())
        names = [entry["config"]["name"] for entry in self.config["layers"]]
        self.layers = [Layer(each, self._numbered(f"weight/{each}")) for each in names]

    def get_config(self):
        return copy.deepcopy(self.config)

    def outputs(self) -> list[numpy.ndarray]:
        return self._numbered("output")

    def inputs(self) -> dict[str, numpy.ndarray]:
        return {key.removeprefix("input/"): each for key, each in self.tensors.items() if key.startswith("input/")}

    def _numbered(self, prefix: str) -> list[numpy.ndarray]:
        found = []
        while f"{prefix}/{len(found)}" in self.tensors:
            found.append(self.tensors[f"{prefix}/{len(found)}"])
        return found

    def layer(self, name: str) -> dict:
        return next(entry for entry in self.config["layers"] if entry["config"]["name"] == name)


def outputs_of(spark, imported: KerasNetwork, rows: dict[str, numpy.ndarray]) -> list[numpy.ndarray]:
    """What the network says, by way of its ONNX file, which test_onnx.py holds against the engine."""
    engine = spark.sparkContext._jvm.io.bloomery.engine.Engine
    session = onnxruntime.InferenceSession(bytes(engine.exportOnnx(imported.network.to_json(), imported.weights)))
    types = {each.name: each.type.removeprefix("tensor(").removesuffix(")") for each in session.get_inputs()}
    dtypes = {"float": "float32"}
    return session.run(
        json.loads(imported.network.to_json())["outputs"],
        {name: values.astype(dtypes.get(types[name], types[name])) for name, values in rows.items()},
    )


def same_outputs(spark, model: Written) -> None:
    computed = outputs_of(spark, bloomery.from_keras(model), model.inputs())
    assert len(computed) == len(model.outputs())
    for ours, theirs in zip(computed, model.outputs(), strict=True):
        assert numpy.ptp(theirs) > 0.01
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_network_computes_what_keras_did(spark, name):
    same_outputs(spark, Written(name))


@pytest.mark.soak
@pytest.mark.skipif(not KERAS.exists(), reason="scripts/setup bench installs Keras")
@pytest.mark.parametrize("name", MODELS)
def test_network_computes_what_keras_does(spark, name, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "keras"
    if not folder.exists():
        subprocess.run([KERAS, ROOT / "tests" / "golden" / "keras_models.py", folder], check=True, timeout=250)
    same_outputs(spark, Written(name, folder))


def test_inputs_and_outputs_keep_their_order_and_names():
    network = json.loads(bloomery.from_keras(Written("two-inputs")).network.to_json())
    assert [layer["name"] for layer in network["layers"] if layer["kind"] == "Input"] == ["numbers", "tokens"]
    assert network["outputs"] == ["scores", "shared_1"]
    assert next(layer for layer in network["layers"] if layer["name"] == "shared_1")["sharedWith"] == "shared"


def test_model_of_a_keras_model_predicts_without_training(spark):
    written = Written("cnn")
    (images,) = written.inputs().values()
    rows = [(bytearray(image.astype("uint8").tobytes()),) for image in images]
    model = bloomery.from_keras(written).classification_model().setFeaturesCol("image")
    predicted = model.transform(spark.createDataFrame(rows, "image binary").coalesce(1)).collect()
    numpy.testing.assert_allclose([row.probability.toArray() for row in predicted], written.outputs()[0], atol=1e-4)


def test_model_of_a_keras_model_can_be_saved(spark, tmp_path):
    model = bloomery.from_keras(Written("reader")).classification_model()
    model.save(str(tmp_path / "model"))
    loaded = NeuralNetClassificationModel.load(str(tmp_path / "model"))
    assert loaded.weights().keys() == model.weights().keys()
    assert loaded.summary.history == []


def test_weights_that_do_not_fit_are_refused_at_once(spark):
    imported = bloomery.from_keras(Written("reader"))
    with pytest.raises(bloomery.UserError, match="dense/bias"):
        NeuralNetClassificationModel.of(
            imported.network, bytes_of({key: each for key, each in imported.tensors().items() if key != "dense/bias"})
        )


@pytest.mark.parametrize(
    ("model", "layer", "option", "value", "sentence"),
    [
        ("cnn", "conv1d", "padding", "causal", "layer 'conv1d' (Conv1D): padding='causal'"),
        ("cnn", "conv2d", "data_format", "channels_first", "layer 'conv2d' (Conv2D): data_format='channels_first'"),
        ("cnn", "conv2d", "activation", "mish", "layer 'conv2d' (Conv2D): activation='mish'"),
        ("cnn", "conv2d", "kernel_constraint", {"class_name": "MaxNorm"}, "kernel_constraint='MaxNorm'"),
        ("cnn", "conv2d", "dtype", "mixed_float16", "layer 'conv2d' (Conv2D): dtype='mixed_float16'"),
        ("cnn", "conv2d", "kernel_regularizer", {"class_name": "OrthogonalRegularizer"}, "kernel_regularizer="),
        ("cnn", "batch_normalization", "axis", 1, "layer 'batch_normalization' (BatchNormalization): axis=1"),
        ("cnn", "batch_normalization", "renorm", True, "renorm=True"),
        ("cnn", "image", "batch_shape", [None, None, 8, 2], "layer 'image' (InputLayer): a shape that is not known"),
        ("reader", "lstm_1", "dropout", 0.25, "layer 'lstm_1' (LSTM): dropout=0.25"),
        ("reader", "lstm_1", "stateful", True, "layer 'lstm_1' (LSTM): stateful=True"),
        ("reader", "gru", "reset_after", False, "layer 'gru' (GRU): reset_after=False"),
        ("reader", "bidirectional", "merge_mode", "sum", "layer 'bidirectional' (Bidirectional): merge_mode='sum'"),
        ("two-inputs", "tokens", "dtype", "string", "layer 'tokens' (InputLayer): dtype='string'"),
    ],
)
def test_unsupported_option_is_named_with_its_layer(model, layer, option, value, sentence):
    written = Written(model)
    written.layer(layer)["config"][option] = value
    with pytest.raises(bloomery.UserError) as caught:
        bloomery.from_keras(written)
    assert str(caught.value).startswith("Keras model has what Bloomery does not support: ")
    assert sentence in str(caught.value)


def test_all_unsupported_kinds_are_named_at_once():
    written = Written("cnn")
    written.layer("conv2d")["class_name"] = "SeparableConv2D"
    written.layer("dropout")["class_name"] = "SpatialDropout2D"
    with pytest.raises(bloomery.UserError) as caught:
        bloomery.from_keras(written)
    assert "layer 'conv2d' (SeparableConv2D): its kind; layer 'dropout' (SpatialDropout2D): its kind" in str(
        caught.value
    )


def test_mean_over_masked_steps_is_refused():
    written = Written("reader")
    last = written.config["layers"].index(written.layer("lstm_1"))
    pooling = {"class_name": "GlobalAveragePooling1D", "config": {"name": "mean"}}
    written.config["layers"][last:] = [pooling]
    with pytest.raises(bloomery.UserError, match=r"layer 'mean' \(GlobalAveragePooling1D\): a mask"):
        bloomery.from_keras(written)


def test_masked_steps_of_a_bidirectional_layer_are_not_for_others_to_read():
    written = Written("reader")
    behind = written.config["layers"].index(written.layer("gru"))
    written.config["layers"][behind:] = [{"class_name": "Flatten", "config": {"name": "flat"}}]
    with pytest.raises(bloomery.UserError, match=r"layer 'bidirectional' \(Bidirectional\): masked steps"):
        bloomery.from_keras(written)


def test_model_without_weights_is_told_to_be_built():
    written = Written("cnn")
    written.layers = [Layer(layer.name, []) for layer in written.layers]
    with pytest.raises(bloomery.UserError, match=r"layer 'conv2d' \(Conv2D\): 0 weights, expected 2; build the model"):
        bloomery.from_keras(written)


def test_what_is_no_keras_model_is_a_type_error():
    with pytest.raises(TypeError, match="Not a Keras model"):
        bloomery.from_keras("model.keras")
