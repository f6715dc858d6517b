"""Layers that are called write a graph: names, inputs, sharing and outputs."""

import json

import pytest

from bloomery import Model, UserError
from bloomery import layers as L


def layers_of(network):
    return json.loads(network.to_json())["layers"]


def test_model_writes_names_inputs_and_outputs():
    x = L.Input(4, dtype="int32", name="tokens")
    h = L.Dense(8, "relu")(x)
    network = Model(x, L.Dense(3, name="scores")(L.Add()([h, L.Dense(8)(x)])), name="small")
    assert json.loads(network.to_json()) == {
        "format": "bloomery-network",
        "version": 1,
        "name": "small",
        "layers": [
            {"kind": "Input", "name": "tokens", "shape": [4], "dtype": "int32"},
            {"kind": "Dense", "name": "dense", "units": 8, "activation": "relu", "inputs": ["tokens"]},
            {"kind": "Dense", "name": "dense_1", "units": 8, "inputs": ["tokens"]},
            {"kind": "Add", "name": "add", "inputs": ["dense", "dense_1"]},
            {"kind": "Dense", "name": "scores", "units": 3, "inputs": ["add"]},
        ],
        "outputs": ["scores"],
    }


def test_inputs_and_outputs_stand_as_listed():
    a, b = L.Input(4, name="a"), L.Input(4, name="b")
    first, second = L.Dense(1, name="first")(a), L.Dense(1, name="second")(b)
    network = json.loads(Model([b, a], [second, first]).to_json())
    assert [layer["name"] for layer in network["layers"]] == ["b", "a", "second", "first"]
    assert network["outputs"] == ["second", "first"]


def test_layer_called_twice_shares_its_parameters():
    a, b = L.Input(4), L.Input(4)
    encoder, unnamed = L.Dense(8, name="encoder"), L.Dense(2)
    x = L.Concatenate()([unnamed(encoder(a)), unnamed(encoder(b))])
    written = {layer["name"]: layer for layer in layers_of(Model([a, b], x))}
    assert written["encoder_1"] == {
        **written["encoder"],
        "name": "encoder_1",
        "inputs": ["input_1"],
        "sharedWith": "encoder",
    }
    assert written["dense_1"] == {**written["dense"], "name": "dense_1", "inputs": ["encoder_1"], "sharedWith": "dense"}
    assert "sharedWith" not in written["encoder"]


def test_two_equal_layers_share_nothing():
    x = L.Input(4)
    written = layers_of(Model(x, L.Dense(2)(L.Dense(2)(x))))
    assert [layer["name"] for layer in written] == ["input", "dense", "dense_1"]
    assert not any("sharedWith" in layer for layer in written)


def test_made_names_leave_given_ones_alone():
    x = L.Input(4)
    network = Model(x, L.Dense(2, name="dense_1")(L.Dense(2)(L.Dense(2, name="dense")(x))))
    assert [layer["name"] for layer in layers_of(network)] == ["input", "dense", "dense_2", "dense_1"]


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (L.MaxPool2D(), "max_pool2d"),
        (L.GlobalAveragePool1D(), "global_average_pool1d"),
        (L.LeakyReLU(), "leaky_relu"),
        (L.ReLU(), "relu"),
        (L.ELU(), "elu"),
        (L.LSTM(2), "lstm"),
        (L.BatchNormalization(), "batch_normalization"),
        (L.Bidirectional(L.GRU(2)), "gru"),
    ],
)
def test_made_names_are_the_engines(layer, name):
    x = L.Input(4)
    assert layers_of(Model(x, layer(x)))[-1]["name"] == name


def test_network_may_be_deeper_than_the_stack():
    x = start = L.Input(4)
    for _ in range(5000):
        x = L.ReLU()(x)
    assert len(layers_of(Model(start, x))) == 5001


def test_what_does_not_lead_to_an_output_is_left_out():
    x = L.Input(4)
    L.Dense(7)(x)
    assert len(layers_of(Model(x, L.Dense(2)(x)))) == 2


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: L.Dense(2)(L.Dense(2)), TypeError, r"Not a layer's output: Dense\(units=2\), give an Input or"),
        (lambda: L.Add()([L.Input(4), 3]), TypeError, "Not a layer's output: 3, give an Input or"),
        (lambda: Model(L.ReLU()(L.Input(4)), L.Input(4)), TypeError, r"Not an Input: Tensor of ReLU\(\)"),
        (lambda: Model(L.Input(4), L.Dense(2)), TypeError, r"Not a layer's output: Dense\(units=2\), in outputs"),
        (lambda: Model(L.Input(4), [L.Dense(2)]), TypeError, r"Not a layer's output: Dense\(units=2\), in outputs"),
        (
            lambda: Model(L.Input(4), L.Dense(2)(L.Input(4, name="other"))),
            UserError,
            r"Input is not among the inputs of the Model: Input\(name='other', shape=\[4\]\), add it",
        ),
    ],
)
def test_wrong_call_is_refused(make, kind, sentence):
    with pytest.raises(kind, match=sentence):
        make()
