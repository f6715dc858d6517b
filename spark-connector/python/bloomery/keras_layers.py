"""Keras's layers as those of the network JSON: which kinds and options there are, and what their weights are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bloomery.names import camel_case

# Options that change nothing of what a model with weights computes.
_WITHOUT_EFFECT = {
    "name",
    "trainable",
    "dtype",
    "seed",
    "unroll",
    "renorm_momentum",
    "zero_output_for_mask",
    "optional",
}
_ACTIVATIONS = {
    "linear", "relu", "leaky_relu", "elu", "gelu", "silu", "swish", "sigmoid", "tanh", "softplus", "softmax",
}  # fmt: skip
_INITIALIZERS = {
    "Zeros": "zeros",
    "Ones": "ones",
    "GlorotUniform": "glorot_uniform",
    "GlorotNormal": "glorot_normal",
    "HeUniform": "he_uniform",
    "HeNormal": "he_normal",
    "LecunUniform": "lecun_uniform",
    "LecunNormal": "lecun_normal",
    "Orthogonal": "orthogonal",
}
_REGULARIZERS = {"L1", "L2", "L1L2"}

_LEARNT = ("use_bias", "kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer")
_WINDOW = ("kernel_size", "strides", "padding", "dilation_rate")
_CELL = ("units", "use_bias", "kernel_initializer", "recurrent_initializer", "kernel_regularizer", "return_sequences")
_POOL = ("pool_size", "strides", "padding")


@dataclass(frozen=True)
class Kind:
    """A kind of ours: options that it takes over, values that others must have, and its weights in Keras's order."""

    name: str
    options: tuple[str, ...] = ()
    wanted: dict[str, Any] = field(default_factory=dict)
    weights: tuple[str, ...] = ()
    keeps_steps: bool = False  # a mask goes on behind it


_TANH = {"activation": "tanh", "recurrent_activation": "sigmoid"}
_RECURRENT = ("kernel", "recurrent_kernel", "bias")

KINDS: dict[str, Kind] = {
    "Dense": Kind("Dense", ("units", "activation", *_LEARNT), weights=("kernel", "bias"), keeps_steps=True),
    "Conv1D": Kind("Conv1D", ("filters", *_WINDOW, "groups", "activation", *_LEARNT), weights=("kernel", "bias")),
    "Conv2D": Kind("Conv2D", ("filters", *_WINDOW, "groups", "activation", *_LEARNT), weights=("kernel", "bias")),
    "DepthwiseConv2D": Kind(
        "DepthwiseConv2D",
        (*_WINDOW, "depth_multiplier", "activation", "use_bias", "depthwise_initializer", "bias_initializer",
         "depthwise_regularizer", "bias_regularizer"),
        weights=("kernel", "bias"),
    ),
    "BatchNormalization": Kind(
        "BatchNormalization",
        ("momentum", "epsilon", "center", "scale", "synchronized"),
        weights=("gamma", "beta", "moving_mean", "moving_variance"),
        keeps_steps=True,
    ),
    "LayerNormalization": Kind(
        "LayerNormalization", ("epsilon", "center", "scale"), weights=("gamma", "beta"), keeps_steps=True
    ),
    "Normalization": Kind("Normalization", ("axis", "mean", "variance"), {}, ("mean", "variance"), keeps_steps=True),
    "Embedding": Kind(
        "Embedding",
        ("input_dim", "output_dim", "mask_zero", "embeddings_initializer", "embeddings_regularizer"),
        weights=("embeddings",),
    ),
    "LSTM": Kind("LSTM", (*_CELL, "go_backwards", "unit_forget_bias"), _TANH, _RECURRENT),
    "GRU": Kind("GRU", (*_CELL, "go_backwards"), {**_TANH, "reset_after": True}, _RECURRENT),
    "Dropout": Kind("Dropout", ("rate",), keeps_steps=True),
    "Flatten": Kind("Flatten"),
    "Reshape": Kind("Reshape", ("target_shape",)),
    "ZeroPadding2D": Kind("ZeroPadding2D", ("padding",)),
    "Rescaling": Kind("Rescaling", ("scale", "offset"), keeps_steps=True),
    "Activation": Kind("Activation", ("activation",), keeps_steps=True),
    "ReLU": Kind("ReLU", keeps_steps=True),
    "Softmax": Kind("Softmax", keeps_steps=True),
    "LeakyReLU": Kind("LeakyReLU", ("negative_slope",), keeps_steps=True),
    "ELU": Kind("ELU", ("alpha",), keeps_steps=True),
    "MaxPooling1D": Kind("MaxPool1D", _POOL),
    "MaxPooling2D": Kind("MaxPool2D", _POOL),
    "AveragePooling1D": Kind("AveragePool1D", _POOL),
    "AveragePooling2D": Kind("AveragePool2D", _POOL),
    "GlobalMaxPooling1D": Kind("GlobalMaxPool1D"),
    "GlobalMaxPooling2D": Kind("GlobalMaxPool2D"),
    "GlobalAveragePooling1D": Kind("GlobalAveragePool1D"),
    "GlobalAveragePooling2D": Kind("GlobalAveragePool2D"),
    "Add": Kind("Add", keeps_steps=True),
    "Multiply": Kind("Multiply", keeps_steps=True),
    "Concatenate": Kind("Concatenate", keeps_steps=True),
}  # fmt: skip

_LAST_AXIS = {"BatchNormalization", "LayerNormalization", "Softmax", "Concatenate"}


@dataclass
class Converted:
    """A layer of a Keras config: the JSON of ours without name and inputs, and the names of its weights in order."""

    json: dict[str, Any]
    weights: list[str]
    keeps_steps: bool
    problems: list[str]

    @property
    def kind(self) -> str:
        """The kind, as the network JSON has it."""
        return str(self.json["kind"])


def convert(entry: dict[str, Any]) -> Converted:
    """The layer; what of it we do not have is told in `problems`."""
    if entry["class_name"] == "Bidirectional":
        return _bidirectional(entry)
    if entry["class_name"] not in KINDS:
        return Converted({"kind": entry["class_name"]}, [], False, ["its kind"])
    kind, config = KINDS[entry["class_name"]], entry["config"]
    problems = list(_unsupported(entry, kind))
    json: dict[str, Any] = {"kind": kind.name}
    for key in kind.options:
        value = _option(key, config.get(key), problems)
        if value is not None:
            json["function" if kind.name == "Activation" else camel_case(key)] = value
    if kind.name == "Normalization":
        json["axis"] = config.get("axis") or []
    if kind.weights and config.get("trainable") is False:
        json["trainable"] = False
    return Converted(json, list(_weights(kind, config)), kind.keeps_steps or _returns_sequences(json), problems)


def _returns_sequences(json: dict[str, Any]) -> bool:
    return bool(json.get("returnSequences"))


def _weights(kind: Kind, config: dict[str, Any]) -> Iterable[str]:
    absent = {"bias": "use_bias", "gamma": "scale", "beta": "center"}
    return (name for name in kind.weights if name not in absent or config.get(absent[name], True))


def _bidirectional(entry: dict[str, Any]) -> Converted:
    config = entry["config"]
    inside, backward = convert(config["layer"]), config.get("backward_layer")
    if inside.kind not in ("LSTM", "GRU"):
        inside.problems.append(f"layer={config['layer']['class_name']}")
    if config.get("merge_mode") != "concat":
        inside.problems.append(f"merge_mode={config.get('merge_mode')!r}")
    if inside.json.get("goBackwards"):
        inside.problems.append("a layer that goes backwards itself")
    if backward is not None:
        other = convert(backward).json
        if {**other, "goBackwards": False} != {**inside.json, "goBackwards": False}:
            inside.problems.append("a backward_layer that is not like its layer")
    inside.json["bidirectional"] = True
    inside.json.pop("goBackwards", None)
    inside.weights += [f"backward/{name}" for name in inside.weights]
    if config.get("trainable") is False:
        inside.json["trainable"] = False
    return inside


def _unsupported(entry: dict[str, Any], kind: Kind) -> Iterable[str]:
    """Options with a value that is not one of ours; what is off (None, False, 0) does not count."""
    for key, value in entry["config"].items():
        if key in kind.options or key in _WITHOUT_EFFECT or key.endswith("_initializer"):
            continue
        if key == "axis" and kind.name in _LAST_AXIS:
            if not _is_last(value, entry):
                yield f"axis={value!r}"
        elif key == "data_format":
            if value not in (None, "channels_last"):
                yield f"data_format={value!r}"
        elif key in kind.wanted:
            if value != kind.wanted[key]:
                yield f"{key}={_shown(value)}"
        elif value:
            yield f"{key}={_shown(value)}"
    policy = entry["config"].get("dtype")
    name = policy.get("config", {}).get("name") if isinstance(policy, dict) else policy
    if name not in (None, "float32"):
        yield f"dtype={_shown(name or policy)}"


def _is_last(axis: Any, entry: dict[str, Any]) -> bool:
    (only,) = axis if isinstance(axis, list | tuple) and len(axis) == 1 else (axis,)
    shape = (entry.get("build_config") or {}).get("input_shape") or []
    while shape and isinstance(shape[0], list | tuple):
        shape = shape[0]
    return only == -1 or (len(shape) > 0 and only == len(shape) - 1)


def _option(key: str, value: Any, problems: list[str]) -> Any:
    if value is None:
        return None
    if key == "activation":
        if value not in _ACTIVATIONS:
            problems.append(f"activation={_shown(value)}")
        return value
    if key.endswith("_initializer"):
        # Others are left out: the weights are given.
        return _INITIALIZERS.get(value["class_name"]) if isinstance(value, dict) else value
    if key.endswith("_regularizer"):
        if not isinstance(value, dict) or value["class_name"] not in _REGULARIZERS:
            problems.append(f"{key}={_shown(value)}")
            return None
        return value["config"]
    if key == "padding" and value not in ("valid", "same") and isinstance(value, str):
        problems.append(f"padding={value!r}")
    if key in ("scale", "offset") and isinstance(value, list | tuple):
        problems.append(f"{key} of several numbers")
    if key in ("mean", "variance"):
        return _flat(value)
    single = key in ("kernel_size", "strides", "dilation_rate", "pool_size") and isinstance(value, list | tuple)
    return value[0] if single and len(value) == 1 else value


def _flat(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple):
        return value
    parts = [_flat(each) for each in value]
    return [number for part in parts for number in (part if isinstance(part, list) else [part])]


def _shown(value: Any) -> str:
    return repr(value.get("class_name", value) if isinstance(value, dict) else value)
