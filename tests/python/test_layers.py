"""Layers write down what they are given, under the names of the network JSON."""

import json

import pytest

from bloomery import Sequential, zoo
from bloomery import layers as L


def test_layer_writes_only_what_was_given():
    assert L.Conv2D(32, 3).to_dict() == {"kind": "Conv2D", "filters": 32, "kernelSize": 3}
    assert L.MaxPool2D().to_dict() == {"kind": "MaxPool2D"}


@pytest.mark.parametrize(
    ("layer", "written"),
    [
        (
            L.Input(28, 28, 1, dtype="uint8", scale=0.5),
            {"kind": "Input", "shape": [28, 28, 1], "dtype": "uint8", "scale": 0.5},
        ),
        (L.Input(shape=(50,)), {"kind": "Input", "shape": [50]}),
        (
            L.Conv2D(8, (3, 5), strides=2, padding="same", activation="relu", use_bias=False, name="first"),
            {
                "kind": "Conv2D",
                "name": "first",
                "filters": 8,
                "kernelSize": (3, 5),
                "strides": 2,
                "padding": "same",
                "activation": "relu",
                "useBias": False,
            },
        ),
        (
            L.Conv2D(8, 3, kernel_initializer="he_normal", bias_initializer="ones"),
            {
                "kind": "Conv2D",
                "filters": 8,
                "kernelSize": 3,
                "kernelInitializer": "he_normal",
                "biasInitializer": "ones",
            },
        ),
        (L.MaxPool2D(3, strides=(2, 1)), {"kind": "MaxPool2D", "poolSize": 3, "strides": (2, 1)}),
        (L.Dropout(0.25), {"kind": "Dropout", "rate": 0.25}),
        (L.Flatten(name="flat"), {"kind": "Flatten", "name": "flat"}),
        (L.Dense(10, "softmax"), {"kind": "Dense", "units": 10, "activation": "softmax"}),
        (L.Activation("relu"), {"kind": "Activation", "function": "relu"}),
        (L.ReLU(), {"kind": "ReLU"}),
        (L.Softmax(), {"kind": "Softmax"}),
    ],
)
def test_option_names(layer, written):
    assert layer.to_dict() == written


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: L.Conv2D(32, 3, activaton="relu"), "Unknown keyword of Conv2D: activaton, nearest known: activation"),
        (lambda: L.Conv2D(32, kernelSize=3), "Unknown keyword of Conv2D: kernelSize, nearest known: kernel_size"),
        (lambda: L.Dropout(rat=0.5), "Unknown keyword of Dropout: rat, nearest known: rate"),
        (lambda: L.Flatten(axis=1), "Unknown keyword of Flatten: axis, known: name"),
    ],
)
def test_unknown_option_suggests_the_nearest(make, sentence):
    with pytest.raises(TypeError, match=f"^{sentence}$"):
        make()


def test_input_takes_its_shape_once():
    with pytest.raises(TypeError, match="Input has its shape twice"):
        L.Input(28, 28, shape=(28, 28))


def test_sequential_refuses_what_is_not_a_layer():
    with pytest.raises(TypeError, match="Not a layer: 'relu'"):
        Sequential(L.Input(4), "relu")


def test_json_survives_a_round_trip():
    network = zoo.mnist_cnn()
    assert Sequential.from_json(network.to_json()) == network
    assert json.loads(network.to_json())["name"] == "mnist-cnn"
