#!/usr/bin/env python3
"""Writes networks/*.json: the zoo's networks, and one with every layer kind and option, as the Python builder has them.

    build/deps/venv/bin/python tests/golden/networks.py

The tests of the engine count their parameters, those of Python and Scala compare what their builders write.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "golden" / "networks"
sys.path.insert(0, str(ROOT / "spark-connector" / "python"))

from bloomery import Model, Network, zoo  # noqa: E402
from bloomery import layers as L  # noqa: E402
from bloomery.regularizers import L1, L1L2, L2  # noqa: E402


def every_kind() -> Network:
    """A network that makes sense to the engine only; the Scala one is in tests/spark/scala/.../EveryKind.scala."""
    image = L.Input(8, 8, 4, dtype="uint8", scale=0.5, name="image")
    x = L.Normalization([-1], mean=[0.5, 1.0, 1.5, 2.0], variance=[0.25, 1.0, 4.0, 9.0])(image)
    x = L.ZeroPadding2D(((1, 0), (0, 1)))(L.Rescaling(2.0, 0.25)(x))
    x = L.Conv2D(
        8,
        (3, 2),
        (2, 1),
        "same",
        dilation_rate=1,
        groups=2,
        activation="elu",
        use_bias=True,
        kernel_initializer="he_normal",
        bias_initializer="ones",
        kernel_regularizer=L2(1e-4),
        bias_regularizer=L1(1e-5),
        trainable=False,
        name="first",
    )(x)
    x = L.BatchNormalization(
        momentum=0.9, epsilon=1e-5, center=True, scale=False, synchronized=True, trainable=True, name="normalized"
    )(x)
    x = L.DepthwiseConv2D(
        3,
        (1, 1),
        "same",
        2,
        dilation_rate=(1, 2),
        activation="silu",
        use_bias=True,
        depthwise_initializer="lecun_normal",
        bias_initializer="zeros",
        depthwise_regularizer={"l2": 0.5},
        bias_regularizer={"l1": 0.25},
        trainable=True,
    )(x)
    x = L.AveragePool2D((1, 2), strides=1, padding="same")(L.MaxPool2D(2, strides=(1, 2), padding="valid")(x))
    x = L.LeakyReLU(0.125)(x)
    pooled = L.Multiply()([L.GlobalMaxPool2D()(x), L.GlobalAveragePool2D()(x)])
    flat = L.Dense(6)(L.ELU(0.5)(L.Flatten()(L.ReLU()(x))))

    tokens = L.Input(6, dtype="int32", name="tokens")
    embedded = L.Embedding(
        10,
        4,
        embeddings_initializer="random_normal",
        embeddings_regularizer=L1L2(1e-5, 1e-4),
        mask_zero=True,
        trainable=True,
    )(tokens)
    forward = L.LSTM(
        3,
        use_bias=True,
        kernel_initializer="glorot_normal",
        recurrent_initializer="orthogonal",
        unit_forget_bias=False,
        kernel_regularizer=L2(0.125),
        return_sequences=True,
        go_backwards=True,
        trainable=True,
    )(L.Dropout(0.5)(embedded))
    steps = L.LayerNormalization(epsilon=1e-6, center=False, scale=True, trainable=True)(forward)
    steps = L.Bidirectional(
        L.GRU(
            2,
            use_bias=False,
            kernel_initializer="he_uniform",
            recurrent_initializer="glorot_uniform",
            kernel_regularizer=L2(0.25),
            return_sequences=True,
            go_backwards=False,
            trainable=True,
        ),
        name="both",
    )(steps)
    steps = L.Conv1D(4, 2, strides=1, padding="same", activation="tanh")(steps)
    steps = L.AveragePool1D(2)(L.MaxPool1D(2, strides=1)(steps))
    ends = L.Concatenate(axis=-1)([L.GlobalMaxPool1D()(steps), L.GlobalAveragePool1D()(steps)])

    shared = L.Dense(
        6,
        "relu",
        use_bias=True,
        kernel_initializer="lecun_uniform",
        bias_initializer="random_uniform",
        kernel_regularizer=L2(0.5),
        bias_regularizer=L2(0.5),
        trainable=True,
        name="shared",
    )
    x = L.Add()([shared(L.Concatenate()([ends, pooled])), shared(L.Concatenate()([pooled, ends])), flat])
    x = L.Activation("gelu")(L.Reshape((2, -1))(x))
    scores = L.Softmax(name="scores")(x)
    return Model([image, tokens], [scores, flat], name="every-kind")


def networks() -> dict[str, Network]:
    """By the name of the file."""
    return {
        "mnist-cnn": zoo.mnist_cnn(),
        "cifar-resnet56v2": zoo.cifar_resnet56v2(),
        "captioning": zoo.captioning(),
        "fish-resnet34": zoo.fish_resnet34(),
        "solar-mlp-10": zoo.solar_mlp(10),
        "solar-mlp-100": zoo.solar_mlp(100),
        "solar-cnn": zoo.solar_cnn(),
        "every-kind": every_kind(),
    }


def text(network: Network) -> str:
    """The network as the file has it: a line for each layer."""
    fields = json.loads(network.to_json())
    layers = ",\n  ".join(json.dumps(layer) for layer in fields["layers"])
    return json.dumps({**fields, "layers": []}).replace('"layers": []', f'"layers": [\n  {layers}]') + "\n"


if __name__ == "__main__":
    for name, network in networks().items():
        (FOLDER / f"{name}.json").write_text(text(network))
