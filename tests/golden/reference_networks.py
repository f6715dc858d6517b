#!/usr/bin/env python3
"""Writes reference_networks.json: the losses of 20 training steps of every reference network, as PyTorch computes them.

    build/deps/bench-venv/bin/python tests/golden/reference_networks.py

Batches of 8 rows, dropout off. Parameters, inputs and labels come from a formula that both sides compute
(tests/native/train/ReferenceNetworksTest.cc), so only losses are kept. Networks with batch normalisation train with
SGD, the others with their own optimizer.
"""

import json
import math
import pathlib
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch_network import TorchNetwork, named

FOLDER = pathlib.Path(__file__).parent
BATCH, STEPS = 8, 20


def uniform(name, size, step=0):
    """size values in [0, 1): a hash of their number, the name and the step."""
    with np.errstate(over="ignore"):
        bits = np.arange(size, dtype=np.uint32) * np.uint32(2654435761)
        bits ^= np.uint32(zlib.crc32(name.encode())) + np.uint32(step) * np.uint32(40503)
        for factor in (0x85EBCA6B, 0xC2B2AE35):
            bits ^= bits >> np.uint32(16)
            bits *= np.uint32(factor)
        bits ^= bits >> np.uint32(16)
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


def initial(name, shape, kind):
    if kind:
        return torch.full(shape, 1.0 if kind == "ones" else 0.0)
    scale = 0.05 if name.endswith("/embeddings") else math.sqrt(6 / math.prod(shape[:-1]))
    values = (2 * uniform(name, math.prod(shape)) - 1) * np.float32(scale)
    return torch.from_numpy(values.reshape(shape))


def features(layer, limit, step):
    """[rows, shape]; tokens are filled up with zeros at the end."""
    name, shape = layer["name"], layer["shape"]
    values = uniform(name, BATCH * math.prod(shape), step)
    if limit:
        lengths = 1 + (uniform(name + "/length", BATCH, step) * shape[0]).astype(np.int64)
        values = (1 + (values * (limit - 1)).astype(np.int64)).reshape(BATCH, shape[0])
        values = np.where(np.arange(shape[0]) < lengths[:, None], values, 0)
    return torch.from_numpy(values.reshape(BATCH, *shape).astype(np.float32))


def penalty(network, parameters):
    layers = {layer["name"]: layer.get("kernelRegularizer") or {} for layer in network["layers"]}
    terms = [layers[key.rpartition("/")[0]].get("l2", 0) * (value * value).sum()
             for key, value in parameters.items() if key.endswith("/kernel")]  # fmt: skip
    return sum(terms)


def loss_of(kind, logits, step):
    size = logits.shape[-1]
    if kind == "mse":
        targets = torch.from_numpy(uniform("target", BATCH * size, step)).reshape(BATCH, size)
        return F.mse_loss(logits, targets)
    labels = torch.from_numpy((uniform("label", BATCH, step) * size).astype(np.int64))
    if kind == "mse of softmax":
        return F.mse_loss(F.softmax(logits, -1), F.one_hot(labels, size).float())
    return F.cross_entropy(logits, labels)


class Adam:
    """Keras's: epsilon is added to the uncorrected root."""

    def __init__(self, parameters):
        self.parameters, self.number = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in parameters], 0

    def zero_grad(self):
        for parameter, _, _ in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        self.number += 1
        size = 1e-3 * math.sqrt(1 - 0.999**self.number) / (1 - 0.9**self.number)
        for parameter, mean, variance in self.parameters:
            mean += (parameter.grad - mean) * 0.1
            variance += (parameter.grad**2 - variance) * 0.001
            parameter -= size * mean / (variance.sqrt() + 1e-7)


RUNS = [
    ("mnist-cnn", "categorical_crossentropy", {"kind": "adadelta"},
     lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-7)),
    ("cifar-resnet56v2", "categorical_crossentropy", {"kind": "sgd", "learningRate": 0.01},
     lambda p: torch.optim.SGD(p, lr=0.01)),
    ("captioning", "categorical_crossentropy", {"kind": "adam"}, Adam),
    ("fish-resnet34", "mse of softmax", {"kind": "sgd", "learningRate": 0.01}, lambda p: torch.optim.SGD(p, lr=0.01)),
    ("solar-mlp-10", "mse", {"kind": "adam"}, Adam),
    ("solar-cnn", "mse", {"kind": "adam"}, Adam),
]  # fmt: skip


def run(name, kind, make):
    network = named(json.loads((FOLDER / "networks" / f"{name}.json").read_text()))
    parameters, losses, optimizer = {}, [], None

    def parameter(key, shape, initially):
        if key not in parameters:
            parameters[key] = initial(key, shape, initially).requires_grad_()
        return parameters[key]

    limits = {layer["inputs"][0]: layer["inputDim"] for layer in network["layers"] if layer["kind"] == "Embedding"}
    for step in range(STEPS):
        inputs = {layer["name"]: features(layer, limits.get(layer["name"]), step)
                  for layer in network["layers"] if layer["kind"] == "Input"}  # fmt: skip
        loss = loss_of(kind, TorchNetwork(network, parameter)(inputs)[0], step) + penalty(network, parameters)
        optimizer = optimizer or make([value for key, value in parameters.items() if "/moving_" not in key])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(f"{loss.item():.8g}"))
    return losses


if __name__ == "__main__":
    results = []
    for name, kind, optimizer, make in RUNS:
        results.append({"network": name, "loss": kind, "optimizer": optimizer, "losses": run(name, kind, make)})
        print(name, results[-1]["losses"][0], results[-1]["losses"][-1], flush=True)
    (FOLDER / "reference_networks.json").write_text(json.dumps(results, indent=1) + "\n")
