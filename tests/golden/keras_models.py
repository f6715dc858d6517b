#!/usr/bin/env python3
"""Writes keras/*: small Keras models as their config (JSON), and weights, inputs and outputs (safetensors).

    build/deps/keras-venv/bin/python tests/golden/keras_models.py

tests/python/test_keras.py takes them over without Keras; its soak test runs this program again, into another folder.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy
from keras import layers as K

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "golden" / "keras"
sys.path.insert(0, str(ROOT / "spark-connector" / "python" / "bloomery"))  # the file alone: there is no Spark here

import safetensors  # noqa: E402

ROWS = 6


def cnn() -> keras.Model:
    """Images, most kinds of layers in a stack."""
    return keras.Sequential(
        [
            keras.Input((10, 8, 2), dtype="uint8", name="image"),
            K.Rescaling(1 / 255, 0.5),
            K.Normalization(mean=[0.5, 0.75], variance=[0.25, 1.5]),
            K.ZeroPadding2D(((1, 0), (0, 1))),
            K.Conv2D(
                6, (3, 2), padding="same", groups=2, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-4)
            ),
            K.BatchNormalization(momentum=0.9),
            K.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False, activation="silu"),
            K.LeakyReLU(0.25),
            K.AveragePooling2D((1, 2), strides=1, padding="same"),
            K.MaxPooling2D(),
            K.LayerNormalization(center=False),
            K.Dropout(0.5),
            K.Reshape((-1, 6)),
            K.Conv1D(4, 2, dilation_rate=2, activation="tanh"),
            K.MaxPooling1D(2, 1),
            K.Flatten(),
            K.ELU(0.5),
            K.Dense(3, activation="softmax", name="classes"),
        ],
        name="cnn",
    )


def reader() -> keras.Model:
    """Tokens with a mask through recurrent layers in both directions."""
    return keras.Sequential(
        [
            keras.Input((9,), dtype="int32", name="tokens"),
            K.Embedding(20, 5, mask_zero=True),
            K.Bidirectional(K.LSTM(4, return_sequences=True)),
            K.Dropout(0.1),
            K.GRU(3, return_sequences=True, go_backwards=True),
            K.LSTM(3, use_bias=False),
            K.Dense(2),
            K.Activation("softmax"),
        ],
        name="reader",
    )


def two_inputs() -> keras.Model:
    """A graph of two inputs, with a layer that is called twice, and two outputs."""
    tokens, numbers = keras.Input((7,), dtype="int32", name="tokens"), keras.Input((5,), name="numbers")
    words = K.GRU(4)(K.Dropout(0.5)(K.Embedding(9, 5, mask_zero=True)(tokens)))
    shared = K.Dense(4, activation="gelu", name="shared")
    once, twice = shared(numbers), shared(K.ReLU()(numbers))
    joined = K.Concatenate()([K.Add()([words, once]), K.Multiply()([once, twice])])
    scores = K.Dense(3, activation="softmax", name="scores")(joined)
    return keras.Model([numbers, tokens], [scores, twice], name="two-inputs")


MODELS = (cnn, reader, two_inputs)


def rows_of(model: keras.Model) -> dict[str, numpy.ndarray]:
    """Rows for each input by name; many tokens are 0, and of one row all are."""
    random = numpy.random.default_rng(3)
    rows = {}
    for each in model.inputs:
        shape = (ROWS, *each.shape[1:])
        if each.dtype == "int32":
            rows[each.name] = (random.integers(1, 9, shape) * random.integers(0, 2, shape)).astype("int32")
            rows[each.name][0] = 0
        elif each.dtype == "uint8":
            rows[each.name] = random.integers(0, 256, shape).astype("uint8")
        else:
            rows[each.name] = random.normal(0, 1, shape).astype("float32")
    return rows


def write(model: keras.Model, folder: pathlib.Path) -> None:
    """The model with random weights, and what it says of some rows."""
    random = numpy.random.default_rng(4)
    model.set_weights([each + random.uniform(0.05, 0.3, each.shape).astype(each.dtype) for each in model.get_weights()])
    rows = rows_of(model)
    outputs = model.predict(rows if len(rows) > 1 else next(iter(rows.values())), verbose=0)
    tensors = {f"input/{name}": values for name, values in rows.items()}
    for i, values in enumerate(outputs if isinstance(outputs, list) else [outputs]):
        tensors[f"output/{i}"] = values
    for layer in model.layers:
        for i, values in enumerate(layer.get_weights()):
            tensors[f"weight/{layer.name}/{i}"] = numpy.ascontiguousarray(values)
    (folder / f"{model.name}.json").write_text(json.dumps(model.get_config(), sort_keys=True, indent=1) + "\n")
    (folder / f"{model.name}.safetensors").write_bytes(safetensors.bytes_of(tensors))


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(1)
    for make in MODELS:
        write(make(), target)
