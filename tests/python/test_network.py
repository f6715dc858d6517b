"""The engine answers questions about what the builders write."""

import traceback

import pytest

import bloomery
from bloomery import Model, Network, Sequential, zoo
from bloomery import layers as L

FIRST, SECOND = L.Input(4), L.Input(4)
TWICE = L.Dense(3)


def test_summary_prints_the_engines_table(spark, capsys):
    zoo.mnist_cnn().summary()
    printed = capsys.readouterr().out
    assert "conv2d_1 (Conv2D)" in printed
    assert "(None, 24, 24, 64)" in printed
    assert "Total parameters: 1,199,882" in printed


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (
            Sequential(L.Input(4), L.Dense(3, activation="sofmax")),
            "Unknown activation: sofmax, nearest known: softmax, in layer 'dense' (Dense)",
        ),
        (
            Sequential(L.Input(4), L.Conv2D(3, 2)),
            "Shapes do not fit: layer 'conv2d' (Conv2D) after layer 'input' with output (4,): "
            "wants (height, width, channels), gets (4,)",
        ),
        (
            Model([FIRST, SECOND], L.Dense(3)(FIRST)),
            "Input is not used: layer 'input_1', connect it, add it to `outputs` or remove it",
        ),
        (
            Model(FIRST, L.Add()(FIRST)),
            "Layer 'add' (Add) takes two inputs or more, found 1",
        ),
        (
            Model(FIRST, L.Dense(3)([FIRST, FIRST])),
            "Layer 'dense' (Dense) takes one input, found 2",
        ),
        (
            Model(FIRST, [TWICE(FIRST), TWICE(L.Dense(5)(FIRST))]),
            "Layer 'dense_2' (Dense) cannot share the parameters of 'dense' (Dense): "
            "kind, options and input shape must be the same",
        ),
        (
            Model(FIRST, L.Concatenate(axis=1)([FIRST, FIRST])),
            "Concatenate works on the last axis, axis -1, found 1, in layer 'concatenate' (Concatenate)",
        ),
        (
            Network.from_json('{"layers": [{"kind": "Input", "shape": [4]}, {"kind": "Dens", "units": 3}]}'),
            "Unknown layer kind: Dens, nearest known: Dense, in layer 'dens' (Dens)",
        ),
        (
            Network.from_json('{"layers": [{"kind": "Input", "shape": [4]}, {"kind": "Dense", "unit": 3}]}'),
            "Missing option: units, in layer 'dense' (Dense)",
        ),
    ],
)
def test_wrong_network_is_a_user_error_with_the_engines_sentence(spark, network, sentence):
    with pytest.raises(bloomery.UserError) as caught:
        network.describe()
    assert str(caught.value) == sentence
    assert type(caught.value.__context__).__name__ == "Py4JJavaError"
    shown = "".join(traceback.format_exception(caught.value))
    assert sentence in shown
    assert "\tat " not in shown
