"""Exported networks are valid ONNX, and onnxruntime computes with them what the engine does.

The networks are run by bloomery-train, which knows several inputs and outputs and any random weights; the model's own
`exportOnnx` is tested at the end.
"""

import json
import subprocess
from pathlib import Path

import numpy
import onnx
import onnxruntime
import pyarrow
import pyarrow.parquet
import pytest
import safetensors.numpy

import bloomery
from bloomery import Model, Network, Sequential
from bloomery import layers as L

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "build" / "release" / "bloomery-train"
REFERENCES = {path.stem: path for path in sorted((ROOT / "tests" / "golden" / "networks").glob("*.json"))}
ZOO = REFERENCES.keys() - {"every-kind"}
TOLERANCE = 1e-4
ROWS = 4


def tokens(*behind: L.Layer, mask_zero: bool = True) -> Sequential:
    embedding = L.Embedding(9, 5, mask_zero=mask_zero)
    return Sequential(L.Input(7, dtype="int32", name="tokens"), embedding, *behind)


def image(*behind: L.Layer, **options) -> Sequential:
    return Sequential(L.Input(9, 7, 4, **options), *behind)


def two_ways() -> Model:
    x = L.Input(6, 6, 3, dtype="int16", scale=0.125)
    h = L.BatchNormalization()(L.Conv2D(4, 3, padding="same")(x))
    rows = L.Reshape((6, 24))(h)
    joined = L.Concatenate()([h, x, L.MaxPool2D(3, strides=1, padding="same")(h)])
    return Model(x, [L.Dense(3, "sigmoid", name="rows")(rows), L.Dropout(0.5)(joined), L.Flatten(name="flat")(h)])


OTHERS = {
    "lstm-last": tokens(L.LSTM(3)),
    "lstm-backwards": tokens(L.LSTM(3, go_backwards=True)),
    "lstm-without-mask": tokens(L.LSTM(3, return_sequences=True, use_bias=False), mask_zero=False),
    "lstm-both-ways": tokens(L.Bidirectional(L.LSTM(3, return_sequences=True)), L.Dropout(0.5), L.GRU(2)),
    "gru-last": tokens(L.GRU(4)),
    "gru-backwards": tokens(L.GRU(4, return_sequences=True, go_backwards=True), L.LSTM(2, return_sequences=True)),
    "gru-both-ways": tokens(L.Bidirectional(L.GRU(3))),
    "gru-without-mask": tokens(L.GRU(3, go_backwards=True), mask_zero=False),
    "steps": tokens(L.BatchNormalization(), L.Conv1D(4, 3, padding="same", dilation_rate=2), L.MaxPool1D(2, 2, "same")),
    "same": image(L.Conv2D(6, (2, 3), 2, "same", groups=2), L.AveragePool2D(3, 2, "same"), L.MaxPool2D(2, 3, "same")),
    "depthwise": image(L.DepthwiseConv2D((3, 2), 2, "same", 3, use_bias=False), L.Softmax(), dtype="float64", scale=2),
    "padded": image(L.ZeroPadding2D((2, 1)), L.Normalization(None, mean=0.5, variance=0.0), L.Activation("softplus")),
    "dense-on-images": image(L.Dense(3, "elu"), L.LayerNormalization(scale=False), L.Dense(2, "leaky_relu")),
    "functions": image(L.Activation("tanh"), L.Activation("silu"), L.Activation("gelu"), L.Activation("linear")),
    "two-ways": two_ways(),
}


def rows_of(network: dict) -> dict[str, numpy.ndarray]:
    """A column for each input, with numbers that its dtype holds; indices of embeddings have many zeros."""
    random = numpy.random.default_rng(5)
    limits = {}
    for layer in network["layers"]:
        if layer["kind"] == "Embedding":
            limits[layer.get("inputs", [network["layers"][0].get("name", "input")])[0]] = layer["inputDim"]
    columns = {}
    for layer in network["layers"]:
        if layer["kind"] != "Input":
            continue
        name, dtype = layer.get("name", "input"), layer.get("dtype", "float32")
        shape = (ROWS, *layer["shape"])
        if name in limits:
            values = random.integers(1, limits[name], shape) * random.integers(0, 2, shape)
            values[0] = 0  # every step is skipped
        elif dtype.startswith("float"):
            values = random.normal(0, 1, shape)
        else:
            values = random.integers(0, 100, shape)
        columns[name] = values.astype(dtype)
    return columns


def write_rows(path: Path, columns: dict[str, numpy.ndarray]) -> None:
    lists = {name: pyarrow.array(list(values.reshape(ROWS, -1))) for name, values in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(lists), path)


def moved(weights: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """Away from the zeros and ones with which biases, scales and statistics begin."""
    random = numpy.random.default_rng(6)
    changes = {name: random.uniform(0.8, 1.2, values.shape).astype("float32") for name, values in weights.items()}
    return {
        name: values * changes[name] + (changes[name] - 1 if values.ndim == 1 and "variance" not in name else 0)
        for name, values in weights.items()
    }


def train(folder: Path, **options: object) -> None:
    named = {"network": folder / "network.json", "data": folder / "rows.parquet", "loss": "mse", **options}
    command = [str(TRAIN), *(f"--{name}={value}" for name, value in named.items())]
    result = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", [*REFERENCES, *OTHERS])
def test_onnxruntime_computes_what_the_engine_does(spark, name, tmp_path):
    text = REFERENCES[name].read_text() if name in REFERENCES else OTHERS[name].to_json()
    (tmp_path / "network.json").write_text(text)
    network = json.loads(text)
    columns = rows_of(network)
    shapes = [output["shape"] for output in Network.from_json(text).describe()["outputs"]]
    labels = {f"label{i}": numpy.ones((ROWS, *shape), "float32") for i, shape in enumerate(shapes)}
    write_rows(tmp_path / "rows.parquet", {**columns, **labels})
    settings = {"features": ",".join(columns), "labels": ",".join(labels), "batch": ROWS, "threads": 2}
    weights = tmp_path / "weights.safetensors"
    if name not in ZOO:
        train(tmp_path, save=weights, **settings)
        safetensors.numpy.save_file(moved(safetensors.numpy.load_file(weights)), weights)
        settings["weights"] = weights
    model, predictions = tmp_path / "model.onnx", tmp_path / "predictions.safetensors"
    train(tmp_path, onnx=model, predictions=predictions, **settings)

    onnx.checker.check_model(onnx.load(model), full_check=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert [each.name for each in session.get_inputs()] == list(columns)
    names = [each.name for each in session.get_outputs()]
    expected = safetensors.numpy.load_file(predictions)
    assert set(names) == set(expected)
    assert all(numpy.ptp(values) > 0 for values in expected.values())  # rows differ
    for rows in (slice(0, ROWS), slice(1, 2)):  # any number of rows
        computed = session.run(names, {column: values[rows] for column, values in columns.items()})
        for output, values in zip(names, computed, strict=True):
            assert values.shape == expected[output][rows].shape
            numpy.testing.assert_allclose(values, expected[output][rows], TOLERANCE, TOLERANCE, err_msg=output)


def test_exported_model_gives_the_probabilities_of_transform(spark, model, blobs, tmp_path):
    path = tmp_path / "model.onnx"
    for _ in range(2):  # a file that is there is replaced
        model.exportOnnx(f"file:{path}")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    rows = model.transform(blobs).collect()
    features = numpy.array([row.features for row in rows], "float32")
    (probabilities,) = session.run(["dense_1"], {"input": features})
    numpy.testing.assert_allclose(probabilities, [row.probability.toArray() for row in rows], atol=1e-5)


def test_folder_is_no_place_for_an_onnx_file(spark, model, tmp_path):
    with pytest.raises(bloomery.UserError, match=r"exportOnnx writes a file.*add a name such as model\.onnx"):
        model.exportOnnx(str(tmp_path))
