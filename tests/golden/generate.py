#!/usr/bin/env python3
"""Writes the golden fixtures: what PyTorch computes for small networks of every layer kind.

    build/deps/bench-venv/bin/python tests/golden/generate.py

layers.json    per case: logits, loss and the gradient of every parameter
training.json  per optimizer: the loss of ten steps and the parameters after them
losses.json    per loss, tail and kind of targets: the weighted mean and its gradient with respect to the logits

Networks are given as network JSON, activations and parameters are channels last as in Keras. Inputs and parameters are
rounded to three decimals, so that both sides read the same float32 values from short text. Dropout is recomputed here
from its definition (Philox 4x32-10 keyed by seed, layer and epoch; counter row id and block), independently of the
engine. Needs torch and numpy; the numbers do not depend on their version beyond the last bits.
"""

import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent
MASK64 = (1 << 64) - 1


def mix(a, b):
    """base/Random.h: mixKey of two numbers."""

    def finalize(x):
        x ^= x >> 30
        x = x * 0xBF58476D1CE4E5B9 & MASK64
        x ^= x >> 27
        x = x * 0x94D049BB133111EB & MASK64
        return x ^ x >> 31

    return finalize(finalize(a + 0x9E3779B97F4A7C15 & MASK64) ^ (b * 0xD6E8FEB86659FD93 & MASK64))


def mix_text(a, text):
    key = mix(a, len(text))
    for byte in text.encode():
        key = mix(key, byte)
    return key


def philox(key, low, high):
    """Philox 4x32 with ten rounds: four words for one key and counter."""
    mask = 0xFFFFFFFF
    c = [low & mask, low >> 32, high & mask, high >> 32]
    key0, key1 = key & mask, key >> 32
    for _ in range(10):
        product0, product1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [product1 >> 32 ^ c[1] ^ key0, product1 & mask, product0 >> 32 ^ c[3] ^ key1, product0 & mask]
        key0, key1 = key0 + 0x9E3779B9 & mask, key1 + 0xBB67AE85 & mask
    return c


def dropout_mask(case, layer, size):
    """[rows, size]: 1 / (1 - rate) where an element is kept, else 0."""
    key = mix(mix_text(mix_text(case["seed"], "dropout"), layer["name"]), case["epoch"])
    threshold = math.floor(layer["rate"] * 2**32)
    mask = np.zeros((len(case["rowIds"]), size), np.float32)
    for row, row_id in enumerate(case["rowIds"]):
        for element in range(size):
            group, within = divmod(element, 32)
            kept = philox(key, row_id, group * 8 + within % 8)[within // 8] >= threshold
            mask[row, element] = 1 / (1 - layer["rate"]) if kept else 0
    return torch.from_numpy(mask)


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def same_padding(extent, window, stride):
    total = max((-(-extent // stride) - 1) * stride + window - extent, 0)
    return total // 2, total - total // 2


def padded(x, layer, window, strides, value):
    """x: [rows, channels, height, width]."""
    if layer.get("padding", "valid") == "valid":
        return x
    top, bottom = same_padding(x.shape[2], window[0], strides[0])
    left, right = same_padding(x.shape[3], window[1], strides[1])
    return F.pad(x, (left, right, top, bottom), value=value)


def activation(x, function):
    return {"linear": lambda: x, "relu": lambda: F.relu(x), "softmax": lambda: F.softmax(x, -1)}[function]()


def forward(case, parameters):
    """Logits: the output before a final softmax. Images are [rows, height, width, channels] between the layers."""
    x = torch.tensor(case["features"]).reshape([-1] + case["network"]["layers"][0]["shape"])
    layers = case["network"]["layers"][1:]
    for layer in layers:
        kind, name, last = layer["kind"], layer["name"], layer is layers[-1]
        function = layer.get("activation", "linear")
        function = "linear" if last and function == "softmax" else function
        if kind == "Conv2D":
            window, strides = pair(layer["kernelSize"]), pair(layer.get("strides", 1))
            x = padded(x.permute(0, 3, 1, 2), layer, window, strides, 0.0)
            kernel = parameters[name + "/kernel"].permute(3, 2, 0, 1)
            x = F.conv2d(x, kernel, parameters.get(name + "/bias"), stride=strides).permute(0, 2, 3, 1)
            x = activation(x, function)
        elif kind == "MaxPool2D":
            window = pair(layer.get("poolSize", 2))
            strides = pair(layer.get("strides", window))
            x = padded(x.permute(0, 3, 1, 2), layer, window, strides, -math.inf)
            x = F.max_pool2d(x, window, strides).permute(0, 2, 3, 1)
        elif kind == "Dense":
            x = x @ parameters[name + "/kernel"]
            x = activation(x + parameters.get(name + "/bias", 0.0), function)
        elif kind == "Dropout":
            x = x * dropout_mask(case, layer, x[0].numel()).reshape(x.shape)
        elif kind == "Flatten":
            x = x.reshape(x.shape[0], -1)
        elif kind == "Activation":
            x = x if last and layer["function"] == "softmax" else activation(x, layer["function"])
        else:
            raise ValueError(kind)
    return x


def loss_of(case, parameters):
    """Weighted mean of the cross-entropies."""
    logits, weights = forward(case, parameters), torch.tensor(case["weights"])
    losses = F.cross_entropy(logits, torch.tensor(case["labels"]), reduction="none")
    return logits, (losses * weights).sum() / weights.sum()


def listed(tensor):
    return [float(f"{value:.8g}") for value in tensor.detach().double().flatten().tolist()]


def make_case(name, shape, layers, classes, rows, random):
    """Names the layers and draws features, labels, weights and parameters; shapes are found by running the network."""

    def draw(*extents, scale):
        return np.round(random.uniform(-scale, scale, extents), 3).astype(np.float32)

    named = [{"kind": "Input", "name": "input", "shape": shape}]
    named += [{"kind": layer["kind"], "name": f"layer{i}", **layer} for i, layer in enumerate(layers, 1)]
    case = {
        "name": name,
        "network": {"format": "bloomery-network", "version": 1, "name": name, "layers": named},
        "seed": 11,
        "epoch": 3,
        "rowIds": [(i % 3 << 40) + 7 * i for i in range(rows)],
        "features": draw(rows, math.prod(shape), scale=1.0).flatten().tolist(),
        "labels": random.integers(0, classes, rows).tolist(),
        "weights": np.round(random.uniform(0.5, 2.0, rows), 2).tolist(),
    }
    parameters, probe = {}, dict(case)
    for i, layer in enumerate(named):
        if layer["kind"] not in ("Conv2D", "Dense"):
            continue
        probe["network"] = {"layers": named[:i]}
        inputs = forward(probe, parameters).shape[-1]
        units = layer.get("filters", layer.get("units"))
        extents = [*pair(layer["kernelSize"]), inputs, units] if layer["kind"] == "Conv2D" else [inputs, units]
        scale = 1.5 / math.sqrt(math.prod(extents[:-1]))
        parameters[layer["name"] + "/kernel"] = torch.from_numpy(draw(*extents, scale=scale))
        if layer.get("useBias", True):
            parameters[layer["name"] + "/bias"] = torch.from_numpy(draw(units, scale=0.2))
    case["parameters"] = {
        key: [round(v, 3) for v in value.double().flatten().tolist()] for key, value in parameters.items()
    }
    case["features"] = [round(v, 3) for v in case["features"]]
    return case, parameters


def dense(units, activation="linear", **options):
    return {"kind": "Dense", "units": units, "activation": activation, **options}


def conv(activation="linear", filters=4, kernel=3, **options):
    return {"kind": "Conv2D", "filters": filters, "kernelSize": kernel, "activation": activation, **options}


def pool(size=2, **options):
    return {"kind": "MaxPool2D", "poolSize": size, **options}


def dropout(rate):
    return {"kind": "Dropout", "rate": rate}


def function(name):
    return {"kind": "Activation", "function": name}


FLATTEN = {"kind": "Flatten"}
HEAD = [FLATTEN, dense(3, "softmax")]

LAYER_CASES = [
    ("dense", [7], [dense(5, "relu"), dense(3, useBias=False)]),
    ("convolution", [6, 5, 1], [conv(), *HEAD]),
    ("convolutionSameStrided", [7, 6, 3], [conv("relu", padding="same", strides=2), *HEAD]),
    ("convolutionRectangular", [5, 7, 2], [conv(kernel=[2, 3], strides=[1, 2], useBias=False), *HEAD]),
    ("twoConvolutions", [7, 7, 1], [conv("relu"), conv("relu", filters=5), *HEAD]),
    ("maxPooling", [8, 8, 1], [conv("relu"), pool(), *HEAD]),
    ("maxPoolingSameOverlapping", [8, 7, 2], [conv(), pool(3, strides=2, padding="same"), *HEAD]),
    ("relu", [5, 5, 2], [conv(), function("relu"), *HEAD]),
    ("softmaxInside", [6], [dense(4), function("softmax"), dense(3)]),
    ("dropoutAfterPooling", [8, 8, 1], [conv("relu"), pool(), dropout(0.25), *HEAD]),
    ("dropoutAfterLinear", [6], [dense(40), dropout(0.4), dense(3, "softmax")]),
]


def write_layers():
    cases = []
    for index, (name, shape, layers) in enumerate(LAYER_CASES):
        case, parameters = make_case(name, shape, layers, 3, 4, np.random.default_rng(index))
        for parameter in parameters.values():
            parameter.requires_grad_()
        logits, loss = loss_of(case, parameters)
        loss.backward()
        case |= {"logits": listed(logits), "loss": float(f"{loss.item():.8g}")}
        case["gradients"] = {key: listed(value.grad) for key, value in parameters.items()}
        cases.append(case)
    save("layers.json", {"cases": cases})


# The tiny mnist-cnn. Adam adds epsilon to the corrected root in PyTorch and to the uncorrected one here, so its epsilon
# is made too small to matter.
OPTIMIZERS = [
    ({"kind": "sgd", "learningRate": 0.1}, lambda p: torch.optim.SGD(p, lr=0.1)),
    ({"kind": "sgd", "learningRate": 0.05, "momentum": 0.9}, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    ({"kind": "sgd", "learningRate": 0.05, "momentum": 0.9, "nesterov": True},
     lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True)),
    ({"kind": "adam", "learningRate": 0.01, "epsilon": 1e-12}, lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-12)),
    ({"kind": "adadelta", "learningRate": 1.0, "rho": 0.95, "epsilon": 1e-7},
     lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-7)),
]  # fmt: skip


def write_training():
    layers = [conv("relu"), conv("relu", filters=5), pool(), dropout(0.25), FLATTEN, dense(8, "relu"), dropout(0.5)]
    layers.append(dense(3, "softmax"))
    case, start = make_case("tiny-cnn", [10, 10, 1], layers, 3, 12, np.random.default_rng(5))
    case["runs"] = []
    for spec, make in OPTIMIZERS:
        parameters = {key: value.clone().requires_grad_() for key, value in start.items()}
        optimizer = make(list(parameters.values()))
        losses = []
        for step in range(10):
            case["epoch"] = step  # other elements drop in every step
            optimizer.zero_grad()
            _, loss = loss_of(case, parameters)
            loss.backward()
            optimizer.step()
            losses.append(float(f"{loss.item():.8g}"))
        final = {key: listed(value) for key, value in parameters.items()}
        case["runs"].append({"optimizer": spec, "losses": losses, "parameters": final})
    case["epoch"] = 0
    save("training.json", case)


# Loss, tail, shape of the output, whether targets are vectors instead of class indices.
LOSS_CASES = [
    *[
        ({"kind": kind, "labelSmoothing": smoothing}, "softmax", [classes], vectors)
        for kind, vectors in [
            ("categorical_crossentropy", False),
            ("categorical_crossentropy", True),
            ("sparse_categorical_crossentropy", False),
        ]
        for smoothing in (0.0, 0.1)
        for classes in (2, 7, 17)
    ],
    ({"kind": "categorical_crossentropy"}, "sigmoid", [5], False),
    ({"kind": "categorical_crossentropy"}, "sigmoid", [5], True),
    ({"kind": "categorical_crossentropy", "fromLogits": True}, "linear", [3], False),
    ({"kind": "categorical_crossentropy", "labelSmoothing": 0.2}, "softmax", [4, 3], True),
    ({"kind": "binary_crossentropy"}, "sigmoid", [1], True),
    ({"kind": "binary_crossentropy", "labelSmoothing": 0.1}, "sigmoid", [6], True),
    ({"kind": "binary_crossentropy", "fromLogits": True}, "linear", [3], True),
    ({"kind": "binary_crossentropy"}, "sigmoid", [3], False),
    ({"kind": "binary_crossentropy"}, "softmax", [3], True),
    *[
        (loss, tail, shape, vectors)
        for loss in ("mse", "mae", "huber", {"kind": "huber", "delta": 0.25})
        for tail, shape, vectors in [
            ("linear", [1], True),
            ("linear", [9], True),
            ("sigmoid", [3], True),
            ("softmax", [9], False),
            ("softmax", [3, 4], True),
        ]
    ],
]


def loss_values(loss, tail, logits, target):
    """One loss a row; `target` holds class indices or, as doubles, vectors."""
    options = {"kind": loss} if isinstance(loss, str) else loss
    kind, smoothing = options["kind"], options.get("labelSmoothing", 0.0)
    classes = logits.shape[-1]
    vector = F.one_hot(target, classes).double() if target.dtype == torch.int64 else target.double()
    prediction = {"linear": lambda x: x, "sigmoid": torch.sigmoid, "softmax": lambda x: F.softmax(x, -1)}[tail](logits)
    if "categorical" in kind and tail == "sigmoid":
        values = -(vector * torch.log(prediction / prediction.sum(-1, keepdim=True))).sum(-1)
    elif "categorical" in kind:
        flat = logits.reshape(-1, classes)
        wanted = target if target.dtype == torch.int64 else vector.reshape(-1, classes)
        values = F.cross_entropy(flat, wanted, reduction="none", label_smoothing=smoothing)
    elif kind == "binary_crossentropy":
        vector = vector * (1 - smoothing) + smoothing / 2
        if tail == "softmax":
            values = F.binary_cross_entropy(prediction, vector, reduction="none")
        else:
            values = F.binary_cross_entropy_with_logits(logits, vector, reduction="none")
    elif kind == "mse":
        values = F.mse_loss(prediction, vector, reduction="none")
    elif kind == "mae":
        values = F.l1_loss(prediction, vector, reduction="none")
    else:
        values = F.huber_loss(prediction, vector, reduction="none", delta=options.get("delta", 1.0))
    return values.reshape(logits.shape[0], -1).mean(-1)


def write_losses():
    cases, rows = [], 5
    for index, (loss, tail, shape, vectors) in enumerate(LOSS_CASES):
        random = np.random.default_rng(100 + index)
        kind = loss if isinstance(loss, str) else loss["kind"]
        logits = np.round(random.uniform(-3, 3, [rows, *shape]), 3)
        if not vectors:
            target = torch.tensor(random.integers(0, shape[-1], rows))
        elif "categorical" in kind:
            shares = random.uniform(0, 1, [rows, *shape])
            target = torch.tensor(np.round(shares / shares.sum(-1, keepdims=True), 3))
        else:
            target = torch.tensor(np.round(random.uniform(0, 1, [rows, *shape]), 3))
        weights = torch.tensor(np.round(random.uniform(0.5, 2.0, rows), 2))
        parameter = torch.tensor(logits, requires_grad=True)
        mean = (loss_values(loss, tail, parameter, target) * weights).sum() / weights.sum()
        mean.backward()
        case = {"loss": loss, "tail": tail, "shape": shape, "logits": logits.flatten().tolist()}
        case |= {("values" if vectors else "classes"): target.flatten().tolist(), "weights": weights.tolist()}
        cases.append(case | {"mean": float(f"{mean.item():.10g}"), "gradients": listed(parameter.grad)})
    save("losses.json", {"cases": cases})


def save(name, content):
    (FOLDER / name).write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print(f"{name}: {(FOLDER / name).stat().st_size} bytes")


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_layers()
    write_training()
    write_losses()
