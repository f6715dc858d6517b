"""The networks of the zoo are what tests/golden/networks keeps, and the engine counts their parameters."""

import json
import sys
from pathlib import Path

import pytest

from bloomery import Network, zoo
from bloomery import layers as L

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

import networks  # noqa: E402


@pytest.mark.parametrize("name", networks.networks())
def test_golden_networks_are_current(name):
    kept = (GOLDEN / "networks" / f"{name}.json").read_text()
    assert kept == networks.text(networks.networks()[name]), "run tests/golden/networks.py"
    assert Network.from_json(kept) == networks.networks()[name]


def test_golden_networks_have_every_kind():
    written = {layer["kind"] for layer in json.loads(networks.every_kind().to_json())["layers"]}
    assert written == set(L.__all__) - {"Layer", "Tensor", "Bidirectional"}


@pytest.mark.parametrize(
    ("network", "trainable", "total"),
    [
        (zoo.mnist_cnn(), 1_199_882, 1_199_882),
        (zoo.cifar_resnet56v2(), 1_663_338, 1_673_738),
        (zoo.captioning(), 5_527_963, 5_527_963),
        (zoo.fish_resnet34(), 21_283_017, 21_300_041),
        (zoo.solar_mlp(10), 183_511, 183_511),
        (zoo.solar_mlp(100), 16_010_101, 16_010_101),
        (zoo.solar_mlp(hidden=[50]), 50 * 51 + 51, 50 * 51 + 51),
        (zoo.solar_cnn(), 4_352_641, 4_352_641),
    ],
)
def test_networks_have_their_parameters(spark, network, trainable, total):
    described = network.describe()
    assert (described["trainableParameters"], described["parameters"]) == (trainable, total)


def test_engine_knows_every_kind_and_option(spark):
    assert networks.every_kind().describe()["output"]["shape"] == [2, 3]
