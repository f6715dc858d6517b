"""A Keras model, Sequential or functional, as a network with weights. Keras itself is not imported: a model tells its
layers by `get_config()` and their weights by `get_weights()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from bloomery import safetensors
from bloomery.errors import UserError
from bloomery.keras_layers import Converted, convert
from bloomery.model import NeuralNetClassificationModel, NeuralNetRegressionModel
from bloomery.network import Network

Call = tuple[str, int]  # a layer's name, and which of its calls


@dataclass(frozen=True)
class KerasNetwork:
    """What `bloomery.from_keras` gives: architecture and weights of a Keras model."""

    network: Network
    weights: bytes  # safetensors, under the names that the engine gives them

    def tensors(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """The weights by name, such as `conv2d/kernel`."""
        return safetensors.tensors_of(self.weights)

    def classification_model(self) -> NeuralNetClassificationModel:
        """A model that predicts as the Keras model does, without any training."""
        return NeuralNetClassificationModel.of(self.network, self.weights)

    def regression_model(self) -> NeuralNetRegressionModel:
        """The same for a model that predicts values."""
        return NeuralNetRegressionModel.of(self.network, self.weights)


def from_keras(model: Any) -> KerasNetwork:
    """Architecture and weights of a Keras model that is made of supported layers.

    What is not supported is named, all of it at once, in a UserError. An initializer without a counterpart is left out:
    the weights are given.

    >>> imported = bloomery.from_keras(keras.models.load_model("digits.keras"))
    >>> imported.classification_model().setFeaturesCol("image").transform(df)
    """
    if not hasattr(model, "get_config") or not hasattr(model, "layers"):
        raise TypeError(f"Not a Keras model: {model!r}")
    config = model.get_config()
    if "layers" not in config:
        raise UserError(
            f"Keras model does not tell its layers: {type(model).__name__}; Sequential and functional models do"
        )
    calls = _functional(config) if "output_layers" in config else _sequential(config)
    reader = _Reader(calls, {layer.name: layer for layer in model.layers})
    return reader.read(config.get("name"))


@dataclass
class _Node:
    """One call of a layer."""

    call: Call
    entry: dict[str, Any]
    inputs: list[Call]
    mask: Call | None = None  # what Keras hands over as a mask, where the config tells it
    tells_mask: bool = False
    problems: tuple[str, ...] = ()


@dataclass
class _Calls:
    """All calls, each behind what it takes, the inputs of the model first."""

    nodes: list[_Node]
    outputs: list[Call]
    asides: dict[Call, _Node]  # operations on masks, which Keras writes down as layers


def _sequential(config: dict[str, Any]) -> _Calls:
    entries = list(config["layers"])
    if not entries or entries[0]["class_name"] != "InputLayer":
        shape = config.get("build_input_shape")
        if shape is None:
            raise UserError("Keras model does not know the shape of its input: begin it with an Input, or build it")
        name = "input" if not entries else entries[0]["config"]["name"] + "_input"
        entries.insert(0, {"class_name": "InputLayer", "config": {"name": name, "batch_shape": shape}})
    names = [entry["config"]["name"] for entry in entries]
    nodes = [_Node((names[0], 0), entries[0], [])]
    nodes += [
        _Node((name, 0), entry, [(before, 0)])
        for before, name, entry in zip(names, names[1:], entries[1:], strict=False)
    ]
    return _Calls(nodes, [(names[-1], 0)], {})


def _functional(config: dict[str, Any]) -> _Calls:
    entries = {entry.get("name", entry["config"]["name"]): entry for entry in config["layers"]}
    outputs = _ends(config["output_layers"])
    done: dict[Call, _Node] = {}
    for call in [*_ends(config["input_layers"]), *outputs]:
        stack = [call]
        while stack:  # own stack: a model may be deep
            if stack[-1] in done:
                stack.pop()
                continue
            node = _node(stack[-1], entries)
            missing = [each for each in node.inputs if each not in done]
            if missing:
                stack.append(missing[0])
            else:
                done[stack.pop()] = node
    asides = {(name, 0): _node((name, 0), entries) for name in entries if (name, 0) not in done}
    return _Calls(list(done.values()), outputs, asides)


def _ends(layers: Any) -> list[Call]:
    """Of `input_layers` or `output_layers`: a single one may stand without a list around it."""
    if not layers:
        return []
    several = isinstance(layers[0], list | tuple)
    return [(each[0], each[1]) for each in (layers if several else [layers])]


def _node(call: Call, entries: dict[str, dict[str, Any]]) -> _Node:
    name, index = call
    entry = entries[name]
    inbound = entry.get("inbound_nodes") or []
    if entry["class_name"] == "InputLayer" or index >= len(inbound):
        return _Node(call, entry, [])
    node = inbound[index]
    if isinstance(node, list | tuple):  # as Keras 2 writes it
        return _Node(call, entry, [(each[0], each[1]) for each in node])
    options = dict(node.get("kwargs") or {})
    masks = _histories(options.pop("mask", None))
    problems = tuple(f"a call with {key}" for key, value in options.items() if _histories(value))
    return _Node(call, entry, _histories(node["args"]), masks[0] if masks else None, True, problems)


def _histories(value: Any) -> list[Call]:
    """The calls whose outputs stand in an argument, at any depth."""
    if isinstance(value, list | tuple):
        return [call for each in value for call in _histories(each)]
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            history = value["config"]["keras_history"]
            return [(history[0], history[1])]
        return [call for each in value.values() for call in _histories(each)]
    return []


class _Reader:
    def __init__(self, calls: _Calls, layers: dict[str, Any]) -> None:
        self._calls = calls
        self._layers = layers
        self._json: list[dict[str, Any]] = []
        self._tensors: dict[str, numpy.ndarray[Any, Any]] = {}
        self._problems: list[str] = []
        self._names: dict[Call, str] = {}
        self._masks: dict[Call, Call | None] = {}  # which value tells the steps to skip: what an Embedding took
        self._converted: dict[Call, Converted] = {}

    def read(self, name: str | None) -> KerasNetwork:
        taken = {node.call[0] for node in self._calls.nodes}
        owners: dict[str, str] = {}
        for node in self._calls.nodes:
            own = self._names[node.call] = self._unique(node.call[0], taken, owners)
            if node.entry["class_name"] == "InputLayer":
                self._json.append({"kind": "Input", "name": own, **self._input(node)})
                self._masks[node.call] = None
                continue
            converted = self._converted[node.call] = convert(node.entry)
            for problem in (*converted.problems, *node.problems):
                self._report(node, problem)
            self._mask(node, converted)
            owner = owners[node.call[0]]
            if owner == own and not converted.problems:
                self._take_weights(node, own, converted)
            shared = {} if owner == own or not converted.weights else {"sharedWith": owner}
            inputs = [self._names[each] for each in node.inputs]
            self._json.append({"kind": "", "name": own, **converted.json, "inputs": inputs, **shared})
        self._check_zeroed_steps()
        if self._problems:
            raise UserError(
                "Keras model has what Bloomery does not support: " + "; ".join(dict.fromkeys(self._problems))
            )
        outputs = [self._names[call] for call in self._calls.outputs]
        return KerasNetwork(Network(self._json, name, outputs=outputs), safetensors.bytes_of(self._tensors))

    def _unique(self, name: str, taken: set[str], owners: dict[str, str]) -> str:
        """A layer's first call has its name, the others get a number behind it."""
        if name not in owners:
            owners[name] = name
            return name
        number = 1
        while f"{name}_{number}" in taken:
            number += 1
        taken.add(f"{name}_{number}")
        return f"{name}_{number}"

    def _report(self, node: _Node, problem: str) -> None:
        self._problems.append(f"layer '{node.call[0]}' ({node.entry['class_name']}): {problem}")

    def _input(self, node: _Node) -> dict[str, Any]:
        config = node.entry["config"]
        extents = list((config.get("batch_shape") or config.get("batch_input_shape") or [None])[1:])
        if not extents or None in extents:
            self._report(node, f"a shape that is not known, {tuple(extents)}; give it extents")
        if config.get("sparse") or config.get("ragged"):
            self._report(node, "sparse or ragged rows")
        dtype = config.get("dtype") or "float32"
        if dtype not in ("float32", "float64", "uint8", "int8", "int16", "int32", "int64"):
            self._report(node, f"dtype={dtype!r}")
        return {"shape": extents, **({} if dtype == "float32" else {"dtype": dtype})}

    def _take_weights(self, node: _Node, own: str, converted: Converted) -> None:
        layer = self._layers.get(node.call[0])
        values = [numpy.asarray(each) for each in (layer.get_weights() if layer is not None else [])]
        if converted.kind == "Normalization":
            self._take_statistics(node, own, values, converted)
            return
        if len(values) != len(converted.weights):
            self._report(node, f"{len(values)} weights, expected {len(converted.weights)}; build the model first")
            return
        for name, value in zip(converted.weights, values, strict=True):
            self._tensors[f"{own}/{name}"] = value.astype("<f4")

    def _take_statistics(
        self, node: _Node, own: str, values: list[numpy.ndarray[Any, Any]], converted: Converted
    ) -> None:
        """Given ones stand in the config; those of `adapt` are weights, and become given ones."""
        for name, value in zip(("mean", "variance"), values[:2], strict=False):
            converted.json[name] = value.reshape(-1).astype("<f4").tolist()
        shape = (node.entry.get("build_config") or {}).get("input_shape")
        if shape is None or "mean" not in converted.json:
            self._report(node, "no mean and variance; adapt it and build the model first")
            return
        axis = converted.json["axis"]
        extents = [shape[each] for each in (axis if isinstance(axis, list | tuple) else [axis])] or [1]
        for name in ("mean", "variance"):
            statistic = numpy.resize(numpy.asarray(converted.json[name], "<f4"), extents)
            self._tensors[f"{own}/{name}"] = statistic

    def _mask(self, node: _Node, converted: Converted) -> None:
        """Follows the mark of steps to skip as the engine does, and says where Keras would go another way."""
        masks = [mask for mask in (self._masks.get(each) for each in node.inputs) if mask is not None]
        if len(set(masks)) > 1:
            self._report(node, "inputs with masks of different layers")
        ours = masks[0] if masks else None
        reads = converted.kind in ("LSTM", "GRU", "GlobalAveragePool1D")
        if reads and node.tells_mask and self._source(node.mask) != ours:
            self._report(node, "a mask that does not come from the Embedding before it")
        if converted.kind == "GlobalAveragePool1D" and ours is not None:
            self._report(node, "a mask, by which it would leave steps out")
        if converted.kind == "Embedding" and converted.json.get("maskZero"):
            self._masks[node.call] = node.inputs[0]
        else:
            self._masks[node.call] = ours if converted.keeps_steps else None

    def _source(self, mask: Call | None) -> Call | None:
        """The value whose zeros a mask tells: Keras writes it down as an operation NotEqual."""
        if mask is None:
            return None
        aside = self._calls.asides.get(mask)
        return aside.inputs[0] if aside is not None and aside.entry["class_name"] == "NotEqual" else mask

    def _check_zeroed_steps(self) -> None:
        """Keras's Bidirectional gives zeros for skipped steps where ours repeats: who looks must skip them."""
        for node in self._calls.nodes:
            repeated = node.entry["class_name"] == "Bidirectional" and self._masks.get(node.call) is not None
            if repeated and not self._is_skipped_behind(node.call):
                self._report(node, "masked steps of its output that another layer than LSTM or GRU reads")

    def _is_skipped_behind(self, call: Call) -> bool:
        if call in self._calls.outputs:
            return False
        takers = [node for node in self._calls.nodes if call in node.inputs]
        return all(
            self._converted[node.call].kind in ("LSTM", "GRU")
            or (self._converted[node.call].kind == "Dropout" and self._is_skipped_behind(node.call))
            for node in takers
        )
