"""The Python builder writes what the Scala builder writes, and the engine answers questions about it."""

import json

import pytest

import bloomery
from bloomery import Sequential, zoo
from bloomery import layers as L


def scala_network(spark, layers, name=None):
    """The same network made with the Scala builder's classes: layers are (kind, arguments in Scala's order)."""
    package = spark.sparkContext._jvm.io.bloomery.network
    seq = spark.sparkContext._jvm.PythonUtils.toSeq
    default = getattr(getattr(package, "Setting$Default$"), "MODULE$")
    value = getattr(package, "Setting$Value")

    def argument(given):
        kind, content = given
        if kind == "plain":
            return content
        if kind == "size":
            return package.Size(seq(list(content)))
        if kind == "shape":
            return package.Shape(seq(list(content)))
        if kind == "setting":
            return value(argument(content) if isinstance(content, tuple) else content)
        return default

    made = [getattr(package, kind)(*[argument(each) for each in arguments]) for kind, arguments in layers]
    sequential = package.Sequential
    network = sequential.apply(seq(made)) if name is None else sequential.apply(name, seq(made))
    return json.loads(network.toJson())


UNSET = ("default", None)


def setting(content):
    return ("setting", content)


def plain(content):
    return ("plain", content)


def test_python_and_scala_write_the_same_json(spark):
    ours = Sequential(
        L.Input(28, 28, 1, dtype="uint8", scale=1 / 255),
        L.Conv2D(32, 3, activation="relu"),
        L.Conv2D(64, (3, 5), strides=2, padding="same", use_bias=False, kernel_initializer="he_normal", name="second"),
        L.MaxPool2D(2),
        L.MaxPool2D(),
        L.Dropout(0.25),
        L.Flatten(),
        L.Dense(128),
        L.Activation("relu"),
        L.ReLU(),
        L.Dense(10, "softmax", bias_initializer="ones"),
        L.Softmax(name="last"),
        name="both",
    )
    theirs = scala_network(
        spark,
        [
            ("Input", [("shape", [28, 28, 1]), setting("uint8"), setting(1 / 255), UNSET]),
            ("Conv2D", [plain(32), ("size", [3]), UNSET, UNSET, setting("relu"), UNSET, UNSET, UNSET, UNSET]),
            (
                "Conv2D",
                [
                    plain(64),
                    ("size", [3, 5]),
                    setting(("size", [2])),
                    setting("same"),
                    UNSET,
                    setting(False),
                    setting("he_normal"),
                    UNSET,
                    setting("second"),
                ],
            ),
            ("MaxPool2D", [setting(("size", [2])), UNSET, UNSET, UNSET]),
            ("MaxPool2D", [UNSET] * 4),
            ("Dropout", [plain(0.25), UNSET]),
            ("Flatten", [UNSET]),
            ("Dense", [plain(128), *[UNSET] * 5]),
            ("Activation", [plain("relu"), UNSET]),
            ("ReLU", [UNSET]),
            ("Dense", [plain(10), setting("softmax"), UNSET, UNSET, setting("ones"), UNSET]),
            ("Softmax", [setting("last")]),
        ],
        name="both",
    )
    assert json.loads(ours.to_json()) == theirs
    assert json.dumps(json.loads(ours.to_json())) == json.dumps(theirs)  # keys stand in the same order


def test_mnist_cnn_has_its_parameters(spark):
    described = zoo.mnist_cnn().describe()
    assert described["parameters"] == 1_199_882
    assert described["output"] == {"shape": [10], "classes": 10}


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
            Sequential(L.Input(4, 4, 1), L.Dense(3)),
            "Shapes do not fit: layer 'dense' (Dense) after layer 'input' with output (4, 4, 1): "
            "wants (features,): put a Flatten before it, gets (4, 4, 1)",
        ),
        (
            Sequential.from_json('{"layers": [{"kind": "Input", "shape": [4]}, {"kind": "Dens", "units": 3}]}'),
            "Unknown layer kind: Dens, nearest known: Dense, in layer 'dens' (Dens)",
        ),
        (
            Sequential.from_json('{"layers": [{"kind": "Input", "shape": [4]}, {"kind": "Dense", "unit": 3}]}'),
            "Missing option: units, in layer 'dense' (Dense)",
        ),
    ],
)
def test_wrong_network_is_a_user_error_with_the_engines_sentence(spark, network, sentence):
    with pytest.raises(bloomery.UserError) as caught:
        network.describe()
    assert str(caught.value) == sentence
    assert type(caught.value.__cause__).__name__ == "Py4JJavaError"
