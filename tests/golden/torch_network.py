"""Runs a network given as network JSON with PyTorch: the other side of the golden fixtures.

Values are channels last between the layers, parameters have Keras's layouts and names, as in the engine.
"""

import itertools
import math
import re

import torch
import torch.nn.functional as F


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def same_padding(extent, window, stride, dilation=1):
    total = max((-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


def padded(x, layer, window, strides, value, dilation=(1, 1)):
    """x: [rows, channels, height, width]."""
    if layer.get("padding", "valid") == "valid":
        return x
    top, bottom = same_padding(x.shape[2], window[0], strides[0], dilation[0])
    left, right = same_padding(x.shape[3], window[1], strides[1], dilation[1])
    return F.pad(x, (left, right, top, bottom), value=value)


ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": F.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": F.elu,
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softplus": F.softplus,
    "softmax": lambda x: F.softmax(x, -1),
}


class TorchNetwork:
    """parameter(name, shape, initial): the tensor to use; initial is "zeros", "ones" or "" for a kernel."""

    def __init__(self, network, parameter, dropout=None):
        self.layers, self.parameter, self.dropout = network["layers"], parameter, dropout
        self.outputs = network.get("outputs", [self.layers[-1]["name"]])
        self.statistics = {}  # what a batch normalisation saw: mean and biased variance

    def __call__(self, inputs):
        """The outputs before a final softmax; inputs: by name."""
        values, masks, previous = {}, {}, None
        for layer in self.layers:
            name = layer["name"]
            given = [] if layer["kind"] == "Input" else layer.get("inputs", [previous])
            if layer["kind"] == "Input":
                values[name] = inputs[name]
            else:
                is_last = name in self.outputs and not any(name in other.get("inputs", []) for other in self.layers)
                mask = next((masks[one] for one in given if one in masks), None)
                values[name] = self.run(layer, [values[one] for one in given], mask, is_last)
                if layer["kind"] == "Embedding" and layer.get("maskZero"):
                    masks[name] = values[given[0]] != 0
                elif mask is not None and values[name].dim() == 3:
                    masks[name] = mask
            previous = name
        return [values[name] for name in self.outputs]

    def run(self, layer, given, mask, is_last):
        kind, name, x = layer["kind"], layer.get("sharedWith", layer["name"]), given[0]
        function = layer.get("activation", "linear")
        tail = is_last and (layer.get("function", function) if kind == "Activation" else function) == "softmax"
        act = ACTIVATIONS["linear" if tail else function]
        if kind in ("Conv1D", "Conv2D", "DepthwiseConv2D"):
            return act(self.convolution(layer, name, x))
        if "Pool" in kind:
            return self.pooling(kind, layer, x)
        if kind == "Dense":
            x = x @ self.parameter(name + "/kernel", [x.shape[-1], layer["units"]], "")
            return act(x + self.bias(layer, name, layer["units"]))
        if kind == "BatchNormalization":
            return self.batch_normalization(layer, name, x)
        if kind == "LayerNormalization":
            gamma, beta = self.scale_and_center(layer, name, x.shape[-1])
            return F.layer_norm(x, x.shape[-1:], gamma, beta, layer.get("epsilon", 1e-3))
        if kind == "Normalization":
            mean = self.parameter(name + "/mean", [x.shape[-1]], "zeros").detach()
            variance = self.parameter(name + "/variance", [x.shape[-1]], "ones").detach()
            return (x - mean) / variance.sqrt()
        if kind == "Dropout":
            return x if self.dropout is None else x * self.dropout(layer, x[0].numel()).reshape(x.shape)
        if kind == "Flatten":
            return x.reshape(x.shape[0], -1)
        if kind == "Reshape":
            return x.reshape(x.shape[0], *layer["targetShape"])
        if kind == "ZeroPadding2D":
            (top, bottom), (left, right) = (pair(axis) for axis in pair(layer["padding"]))
            return F.pad(x, (0, 0, left, right, top, bottom))
        if kind == "Rescaling":
            return x * layer["scale"] + layer.get("offset", 0.0)
        if kind == "Embedding":
            table = self.parameter(name + "/embeddings", [layer["inputDim"], layer["outputDim"]], "")
            return F.embedding(x.long(), table)
        if kind in ("LSTM", "GRU"):
            return self.recurrent(kind, layer, name, x, mask)
        if kind == "Activation":
            return x if tail else ACTIVATIONS[layer["function"]](x)
        if kind == "ReLU":
            return F.relu(x)
        if kind == "Softmax":
            return x if is_last else F.softmax(x, -1)
        merge = {"Add": torch.add, "Multiply": torch.mul}.get(kind)
        if merge is not None:
            for other in given[1:]:
                x = merge(x, other)
            return x
        if kind == "Concatenate":
            return torch.cat(given, -1)
        raise ValueError(kind)

    def bias(self, layer, name, units):
        return self.parameter(name + "/bias", [units], "zeros") if layer.get("useBias", True) else torch.zeros(units)

    def scale_and_center(self, layer, name, size):
        gamma = self.parameter(name + "/gamma", [size], "ones") if layer.get("scale", True) else None
        beta = self.parameter(name + "/beta", [size], "zeros") if layer.get("center", True) else None
        return gamma, beta

    def convolution(self, layer, name, x):
        one = layer["kind"] == "Conv1D"
        window, strides, dilation = (
            (1, value) if one else pair(value)
            for value in (layer["kernelSize"], layer.get("strides", 1), layer.get("dilationRate", 1))
        )
        x = (x.unsqueeze(1) if one else x).permute(0, 3, 1, 2)
        channels, groups, filters = x.shape[1], layer.get("groups", 1), layer.get("filters")
        shape = [*(window[1:] if one else window), channels // groups, filters]
        if layer["kind"] == "DepthwiseConv2D":
            groups, multiplier = channels, layer.get("depthMultiplier", 1)
            filters, shape = channels * multiplier, [*window, channels, multiplier]
        kernel = self.parameter(name + "/kernel", shape, "").reshape(*window, channels // groups, filters)
        x = padded(x, layer, window, strides, 0.0, dilation)
        x = F.conv2d(x, kernel.permute(3, 2, 0, 1), self.bias(layer, name, filters), strides, 0, dilation, groups)
        x = x.permute(0, 2, 3, 1)
        return x.squeeze(1) if one else x

    def pooling(self, kind, layer, x):
        one = kind.endswith("1D")
        x = (x.unsqueeze(1) if one else x).permute(0, 3, 1, 2)
        if kind.startswith("Global"):
            return x.amax((2, 3)) if "Max" in kind else x.mean((2, 3))
        window = layer.get("poolSize", 2)
        strides = layer.get("strides", window)
        window, strides = ((1, window), (1, strides)) if one else (pair(window), pair(strides))
        if kind.startswith("Max"):
            x = F.max_pool2d(padded(x, layer, window, strides, -math.inf), window, strides)
        else:  # padding does not count
            inside = padded(torch.ones_like(x), layer, window, strides, 0.0)
            x = F.avg_pool2d(padded(x, layer, window, strides, 0.0), window, strides)
            x = x / F.avg_pool2d(inside, window, strides)
        x = x.permute(0, 2, 3, 1)
        return x.squeeze(1) if one else x

    def batch_normalization(self, layer, name, x):
        gamma, beta = self.scale_and_center(layer, name, x.shape[-1])
        self.parameter(name + "/moving_mean", [x.shape[-1]], "zeros")
        self.parameter(name + "/moving_variance", [x.shape[-1]], "ones")
        flat = x.reshape(-1, x.shape[-1])
        self.statistics[name] = (flat.mean(0), flat.var(0, unbiased=False))
        return F.batch_norm(flat, None, None, gamma, beta, True, 0.0, layer.get("epsilon", 1e-3)).reshape(x.shape)

    def recurrent(self, kind, layer, name, x, mask):
        outputs = [self.direction(kind, layer, name, x, mask, layer.get("goBackwards", False))]
        if layer.get("bidirectional"):
            back = self.direction(kind, layer, name + "/backward", x, mask, True)
            outputs.append(back.flip(1) if layer.get("returnSequences") else back)
        return torch.cat(outputs, -1)

    def direction(self, kind, layer, name, x, mask, backwards):
        units, gates, features = layer["units"], 4 if kind == "LSTM" else 3, x.shape[-1]
        kernel = self.parameter(name + "/kernel", [features, gates * units], "")
        recurrent = self.parameter(name + "/recurrent_kernel", [units, gates * units], "")
        bias = torch.zeros(2, gates * units)
        if layer.get("useBias", True):
            shape = [gates * units] if kind == "LSTM" else [2, gates * units]
            given = self.parameter(name + "/bias", shape, "zeros")
            bias = torch.stack([given, torch.zeros_like(given)]) if kind == "LSTM" else given

        def ordered(tensor):  # Keras has z r h, PyTorch r z n
            parts = tensor.split(units, -1)
            return torch.cat(parts if kind == "LSTM" else [parts[1], parts[0], parts[2]], -1)

        weights = {"weight_ih_l0": ordered(kernel).T, "weight_hh_l0": ordered(recurrent).T,
                   "bias_ih_l0": ordered(bias[0]), "bias_hh_l0": ordered(bias[1])}  # fmt: skip
        module = (torch.nn.LSTM if kind == "LSTM" else torch.nn.GRU)(features, units, batch_first=True)
        steps = range(x.shape[1] - 1, -1, -1) if backwards else range(x.shape[1])
        rows = []
        for row in range(x.shape[0]):
            kept = [step for step in steps if mask is None or mask[row, step]]
            out = torch.zeros(1, 0, units)
            if kept:
                out, _ = torch.func.functional_call(module, weights, (x[row : row + 1, kept],))
            shown, last = [], torch.zeros(units)
            for step in steps:
                if step in kept:
                    last = out[0, kept.index(step)]
                shown.append(last)
            rows.append(torch.stack(shown) if layer.get("returnSequences") else last)
        return torch.stack(rows)


def named(network):
    """The network with the names and inputs that the engine gives to layers without."""
    layers, taken, previous = [], {layer["name"] for layer in network["layers"] if "name" in layer}, None
    for layer in network["layers"]:
        base = re.sub(r"(?<=[a-z])(?=[A-Z](?!LU|D\b))", "_", layer["kind"]).lower()
        names = (f"{base}_{n}" if n else base for n in itertools.count())
        name = layer.get("name") or next(name for name in names if name not in taken)
        taken.add(name)
        layers.append({**layer, "name": name, "inputs": layer.get("inputs", [previous] if previous else [])})
        previous = name
    return {**network, "layers": layers}
