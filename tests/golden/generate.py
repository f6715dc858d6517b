#!/usr/bin/env python3
"""Writes the golden fixtures: what PyTorch computes for small networks of every layer kind.

    build/deps/bench-venv/bin/python tests/golden/generate.py

layers.json    per case: logits, loss and the gradient of every parameter
training.json  per optimizer, and with clipping, regularisers and averages: the loss of ten steps and the parameters
               after them
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
from torch_network import TorchNetwork

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


def forward(case, parameters):
    """Logits: the output before a final softmax; the statistics that batch normalisations saw."""
    shape = case["network"]["layers"][0]["shape"]
    network = TorchNetwork(case["network"], lambda name, *_: parameters[name], lambda *at: dropout_mask(case, *at))
    logits = network({"input": torch.tensor(case["features"]).reshape([-1, *shape])})[0]
    return logits, network.statistics


def loss_of(case, parameters):
    """Weighted mean of the cross-entropies."""
    logits, weights = forward(case, parameters)[0], torch.tensor(case["weights"])
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
    if layers[0]["kind"] == "Embedding":
        case["features"] = random.integers(0, layers[0]["inputDim"], rows * math.prod(shape)).astype(float).tolist()
    parameters = {}

    def parameter(name, extents, initial):
        if name not in parameters:
            scale = 0.2 if initial else 1.5 / math.sqrt(math.prod(extents[:-1]))
            values = draw(*extents, scale=0.8 if name.endswith("/embeddings") else scale)
            parameters[name] = torch.from_numpy(
                np.round(values + (1 if initial == "ones" else 0), 3).astype(np.float32)
            )
        return parameters[name]

    features = torch.tensor(case["features"]).reshape([-1, *shape])
    TorchNetwork(case["network"], parameter)({"input": features})
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


def layer(kind, **options):
    return {"kind": kind, **options}


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
    ("denseOnSteps", [3, 5], [dense(4, "relu"), *HEAD]),
    ("convolutionDilated", [7, 7, 2], [conv("relu", dilationRate=2), *HEAD]),
    ("convolutionDilatedSame", [6, 5, 2], [conv(dilationRate=2, padding="same"), *HEAD]),
    ("convolutionGroups", [5, 5, 4], [conv("relu", filters=6, groups=2), *HEAD]),
    ("convolutionOneDimension", [8, 3], [layer("Conv1D", filters=4, kernelSize=3, strides=2), *HEAD]),
    ("depthwise", [5, 5, 3], [layer("DepthwiseConv2D", kernelSize=3, depthMultiplier=2, padding="same"), *HEAD]),
    ("averagePooling", [6, 6, 2], [conv("relu"), layer("AveragePool2D", poolSize=2), *HEAD]),
    ("averagePoolingSame", [7, 5, 2], [conv(), layer("AveragePool2D", poolSize=3, strides=2, padding="same"), *HEAD]),
    ("poolingOneDimension", [9, 2], [layer("MaxPool1D"), layer("AveragePool1D"), *HEAD]),
    ("globalAverage", [5, 4, 2], [conv("relu"), layer("GlobalAveragePool2D"), dense(3)]),
    ("globalMax", [5, 4, 2], [conv(), layer("GlobalMaxPool2D"), dense(3)]),
    ("batchNormalization", [5, 5, 2],
     [conv(filters=8), layer("BatchNormalization", epsilon=0.01), function("relu"), *HEAD]),
    ("batchNormalizationOfRows", [6], [dense(5), layer("BatchNormalization", epsilon=0.01, scale=False), dense(3)]),
    ("layerNormalization", [3, 6], [dense(5), layer("LayerNormalization"), *HEAD]),
    ("shaping", [12],
     [dense(12, "tanh"), layer("Reshape", targetShape=[3, 2, 2]), layer("ZeroPadding2D", padding=[[1, 0], [2, 1]]),
      layer("Rescaling", scale=0.5, offset=-1), *HEAD]),
    ("embedding", [4], [layer("Embedding", inputDim=5, outputDim=3), *HEAD]),
    ("lstm", [4], [layer("Embedding", inputDim=4, outputDim=3, maskZero=True), layer("LSTM", units=4), dense(3)]),
    ("lstmSequences", [4], [layer("Embedding", inputDim=3, outputDim=3, maskZero=True),
                            layer("LSTM", units=3, returnSequences=True, bidirectional=True), *HEAD]),
    ("lstmBackwards", [4, 2], [layer("LSTM", units=3, goBackwards=True, useBias=False), dense(3)]),
    ("gru", [4], [layer("Embedding", inputDim=4, outputDim=3, maskZero=True), layer("GRU", units=4), dense(3)]),
    ("gruSequences", [4, 2], [layer("GRU", units=3, returnSequences=True, bidirectional=True), *HEAD]),
    ("add", [5, 5, 2], [conv(filters=2, padding="same", name="a"), conv("relu", filters=2, padding="same", name="b"),
                        layer("Add", inputs=["a", "b", "input"]), function("relu"), *HEAD]),
    ("multiply", [6], [dense(5, "sigmoid", name="a"), dense(5, name="b", inputs=["input"]),
                       layer("Multiply", inputs=["a", "b"]), dense(3)]),
    ("concatenate", [6], [dense(5, name="a"), layer("Concatenate", inputs=["input", "a"]), dense(3)]),
    ("shared", [5], [dense(5, "tanh", name="a"), dense(5, name="b", sharedWith="a"), dense(3)]),
    *((name, [6], [dense(8), function(name), dense(3)])
      for name in ("leaky_relu", "elu", "gelu", "silu", "sigmoid", "tanh", "softplus")),
    ("normalization", [4, 3], [layer("Normalization"), dense(5, "relu"), *HEAD]),
]  # fmt: skip


def write_layers():
    cases = []
    for index, (name, shape, layers) in enumerate(LAYER_CASES):
        case, parameters = make_case(name, shape, layers, 3, 4, np.random.default_rng(index))
        for parameter in parameters.values():
            parameter.requires_grad_()
        logits, loss = loss_of(case, parameters)
        loss.backward()
        case |= {"logits": listed(logits), "loss": float(f"{loss.item():.8g}")}
        for name, (mean, variance) in forward(case, parameters)[1].items():
            parameters[name + "/moving_mean"].grad = mean.detach()
            parameters[name + "/moving_variance"].grad = variance.detach()
        case["gradients"] = {
            key: listed(torch.zeros_like(value) if value.grad is None else value.grad)  # not trained
            for key, value in parameters.items()
        }
        cases.append(case)
    save("layers.json", {"cases": cases})


class Definition:
    """An optimizer that PyTorch has not, or with epsilon elsewhere: Keras's definition, one parameter at a time."""

    def __init__(self, parameters, rule, **options):
        self.parameters = [(parameter, {}) for parameter in parameters]
        self.rule, self.options, self.number = rule, options, 0

    def zero_grad(self):
        for parameter, _ in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        self.number += 1
        for parameter, state in self.parameters:
            self.rule(parameter, parameter.grad, state, self.number, **self.options)


def moments(g, state, beta1=0.9, beta2=0.999):
    state["m"] = beta1 * state.get("m", 0.0) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", 0.0) + (1 - beta2) * g * g
    return state["m"], state["v"]


def adam(p, g, state, number, lr, eps):
    m, v = moments(g, state)
    p -= lr * math.sqrt(1 - 0.999**number) / (1 - 0.9**number) * m / (v.sqrt() + eps)


def adagrad(p, g, state, number, lr, eps):
    state["sum"] = state.get("sum", 0.1) + g * g
    p -= lr * g / (state["sum"] + eps).sqrt()


def rmsprop(p, g, state, number, lr, eps):
    state["square"] = 0.9 * state.get("square", 0.0) + 0.1 * g * g
    state["mean"] = 0.9 * state.get("mean", 0.0) + 0.1 * g
    state["velocity"] = 0.5 * state.get("velocity", 0.0) + lr * g / (state["square"] - state["mean"] ** 2 + eps).sqrt()
    p -= state["velocity"]


def lamb(p, g, state, number, lr, eps, decay):
    p -= lr * decay * p
    m, v = moments(g, state)
    direction = m / (1 - 0.9**number) / ((v / (1 - 0.999**number)).sqrt() + eps)
    p -= lr * p.norm() / direction.norm() * direction


# The tiny mnist-cnn. Where PyTorch adds epsilon elsewhere, it is made too small to matter; Definition has it large.
OPTIMIZERS = [
    ({"kind": "sgd", "learningRate": 0.1}, lambda p: torch.optim.SGD(p, lr=0.1)),
    ({"kind": "sgd", "learningRate": 0.05, "momentum": 0.9}, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    ({"kind": "sgd", "learningRate": 0.05, "momentum": 0.9, "nesterov": True},
     lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True)),
    ({"kind": "adam", "learningRate": 0.01, "epsilon": 1e-12}, lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-12)),
    ({"kind": "adam", "learningRate": 0.01, "epsilon": 0.01}, lambda p: Definition(p, adam, lr=0.01, eps=0.01)),
    ({"kind": "adamw", "learningRate": 0.01, "epsilon": 1e-12, "weightDecay": 0.5},
     lambda p: torch.optim.AdamW(p, lr=0.01, eps=1e-12, weight_decay=0.5)),
    ({"kind": "adadelta", "learningRate": 1.0, "rho": 0.95, "epsilon": 1e-7},
     lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-7)),
    ({"kind": "adagrad", "learningRate": 0.1, "epsilon": 1e-12},
     lambda p: torch.optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1, eps=1e-12)),
    ({"kind": "adagrad", "learningRate": 0.1, "epsilon": 0.01}, lambda p: Definition(p, adagrad, lr=0.1, eps=0.01)),
    ({"kind": "rmsprop", "learningRate": 0.01, "epsilon": 1e-16},
     lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.9, eps=1e-16)),
    ({"kind": "rmsprop", "learningRate": 0.01, "momentum": 0.5, "epsilon": 0.01, "centered": True},
     lambda p: Definition(p, rmsprop, lr=0.01, eps=0.01)),
    ({"kind": "lamb", "learningRate": 0.05, "epsilon": 1e-4, "weightDecay": 0.5},
     lambda p: Definition(p, lamb, lr=0.05, eps=1e-4, decay=0.5)),
]  # fmt: skip

# What comes before and after the optimizer, here plain SGD: the options of the training JSON, and regularisers of every
# kernel.
EXTRAS = [
    {"clipNorm": 0.25},
    {"clipValue": 0.01},
    {"l1": 0.01, "l2": 0.02},
    {"clipNorm": 0.5, "l2": 0.05, "emaMomentum": 0.75},
]


def penalty(parameters, extras):
    kernels = [value for key, value in parameters.items() if key.endswith("/kernel")]
    return sum(extras.get("l1", 0) * k.abs().sum() + extras.get("l2", 0) * (k * k).sum() for k in kernels)


def clip(parameters, extras):
    if "clipNorm" in extras:
        torch.nn.utils.clip_grad_norm_(parameters, extras["clipNorm"])
    if "clipValue" in extras:
        torch.nn.utils.clip_grad_value_(parameters, extras["clipValue"])


def ten_steps(case, start, make, extras):
    parameters = {key: value.clone().requires_grad_() for key, value in start.items()}
    optimizer, losses, averages = make(list(parameters.values())), [], {}
    for step in range(10):
        case["epoch"] = step  # other elements drop in every step
        optimizer.zero_grad()
        loss = loss_of(case, parameters)[1] + penalty(parameters, extras)
        loss.backward()
        clip(list(parameters.values()), extras)
        optimizer.step()
        losses.append(float(f"{loss.item():.8g}"))
        momentum = extras.get("emaMomentum", 0) if step else 0
        for key, value in parameters.items():
            averages[key] = momentum * averages.get(key, 0) + (1 - momentum) * value.detach()
    run = {"losses": losses, "parameters": {key: listed(value) for key, value in parameters.items()}}
    if "emaMomentum" in extras:
        run["averages"] = {key: listed(value) for key, value in averages.items()}
    return run


def write_training():
    layers = [conv("relu"), conv("relu", filters=5), pool(), dropout(0.25), FLATTEN, dense(8, "relu"), dropout(0.5)]
    layers.append(dense(3, "softmax"))
    case, start = make_case("tiny-cnn", [10, 10, 1], layers, 3, 12, np.random.default_rng(5))
    sgd, make_sgd = OPTIMIZERS[0]
    runs = [(spec, make, {}) for spec, make in OPTIMIZERS] + [(sgd, make_sgd, extras) for extras in EXTRAS]
    case["runs"] = [
        {"optimizer": spec, **extras, **ten_steps(case, start, make, extras)} for spec, make, extras in runs
    ]
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
