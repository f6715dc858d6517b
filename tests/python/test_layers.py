"""Layers write down what they are given, under the names of the network JSON."""

import json

import numpy
import pytest

from bloomery import Network, Sequential, zoo
from bloomery import layers as L
from bloomery.regularizers import L1, L1L2, L2

DENSE = {"kind": "Dense", "units": 1}


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
        (L.Input((28, 28)), {"kind": "Input", "shape": [28, 28]}),
        (L.Input(numpy.int64(50)), {"kind": "Input", "shape": [50]}),
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
        (L.Normalization(), {"kind": "Normalization", "axis": -1}),
        (
            L.Normalization(None, mean=numpy.array([1.5, 2.0]), variance=numpy.float32(0.5)),
            {"kind": "Normalization", "axis": [], "mean": [1.5, 2.0], "variance": 0.5},
        ),
        (L.Activation("relu"), {"kind": "Activation", "function": "relu"}),
        (L.ReLU(), {"kind": "ReLU"}),
        (L.Softmax(), {"kind": "Softmax"}),
        (
            L.Dense(1, kernel_regularizer=L2(1e-4), bias_regularizer={"l1": 0.5}),
            {"kind": "Dense", "units": 1, "kernelRegularizer": {"l2": 1e-4}, "biasRegularizer": {"l1": 0.5}},
        ),
        (L.Dense(1, kernel_regularizer=L1L2(0.5, 0.25)), DENSE | {"kernelRegularizer": {"l1": 0.5, "l2": 0.25}}),
        (L.Dense(1, kernel_regularizer=L1(0.5)), DENSE | {"kernelRegularizer": {"l1": 0.5}}),
        (L.Dense(1, trainable=False), DENSE | {"trainable": False}),
        (L.Bidirectional(L.GRU(2)), {"kind": "GRU", "units": 2, "bidirectional": True}),
        (L.Bidirectional(L.LSTM(2, name="in")), {"kind": "LSTM", "name": "in", "units": 2, "bidirectional": True}),
        (
            L.Bidirectional(L.LSTM(2, name="in"), name="out"),
            {"kind": "LSTM", "name": "out", "units": 2, "bidirectional": True},
        ),
    ],
)
def test_option_names(layer, written):
    assert layer.to_dict() == written
    assert json.loads(json.dumps(layer.to_dict())) == json.loads(json.dumps(written))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: L.Conv2D(32, 3, activaton="relu"), "Unknown keyword of Conv2D: activaton, nearest known: activation"),
        (lambda: L.Conv2D(32, kernelSize=3), "Unknown keyword of Conv2D: kernelSize, nearest known: kernel_size"),
        (lambda: L.Dropout(rat=0.5), "Unknown keyword of Dropout: rat, nearest known: rate"),
        (lambda: L.Flatten(axis=1), "Unknown keyword of Flatten: axis, known: name"),
        (lambda: L.Conv1D(8, 3, pading="same"), "Unknown keyword of Conv1D: pading, nearest known: padding"),
        (lambda: L.Input(4, dtyp="uint8"), "Unknown keyword of Input: dtyp, nearest known: dtype"),
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


def test_sequential_takes_a_list_as_keras_does():
    assert Sequential([L.Input(4), L.Dense(3)]) == Sequential(L.Input(4), L.Dense(3))


class Own(L.Layer):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sequential(L.Input(4), lambda x: x),
        lambda: Sequential(L.Input(4), L.Dense(3, activation=abs)),
        lambda: Sequential(L.Input(4), L.Dense(3, kernel_initializer=lambda shape: shape)),
        Own,
    ],
)
def test_code_of_the_user_is_refused(make):
    with pytest.raises(TypeError, match="layers, activations and optimizers in user code are not offered in this"):
        make()


def test_repr_shows_what_was_given():
    assert repr(L.Dense(3, "relu", kernel_regularizer=L2(0.5))) == (
        "Dense(units=3, activation='relu', kernelRegularizer={'l2': 0.5})"
    )
    assert repr(L1L2(0.5, 0.25)) == "L1L2(0.5, 0.25)"


@pytest.mark.parametrize("network", [zoo.mnist_cnn(), zoo.captioning(), Sequential(L.Input(4, 4), L.Reshape((2, 8)))])
def test_json_survives_a_round_trip(network):
    assert Network.from_json(network.to_json()) == network
    assert json.loads(network.to_json()).get("name", "") in ("mnist-cnn", "captioning", "")


def test_a_class_is_not_a_layer():
    with pytest.raises(TypeError, match=r"give Flatten\(...\), instead of Flatten"):
        Sequential(L.Input(4), L.Flatten, L.Dense(1))
