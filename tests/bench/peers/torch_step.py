"""PyTorch's training step on a network given as our JSON. Answers lines "run SECONDS" as competitor.py says."""

import argparse
import json
import os
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--network", type=Path, required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--layout", choices=("nchw", "nhwc"), default="nchw")
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402, the number of threads has to stand first
from torch import nn  # noqa: E402

NUM_BATCHES = 8
ACTIVATIONS = {"linear": [], "relu": [nn.ReLU], "softmax": []}  # the loss takes logits


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def build(layers):
    """The modules, and the shape of the input as [height, width, channels] or [features]."""
    shape = layers[0]["shape"]
    example = torch.zeros(1, *shape) if len(shape) == 1 else torch.zeros(1, shape[2], shape[0], shape[1])
    modules = []
    for layer in layers[1:]:
        kind = layer["kind"]
        size = example.shape[1]
        if kind == "Conv2D":
            padding = layer.get("padding", "valid")
            made = [
                nn.Conv2d(size, layer["filters"], pair(layer["kernelSize"]), pair(layer.get("strides", 1)), padding)
            ]
        elif kind == "MaxPool2D":
            pool = pair(layer.get("poolSize", 2))
            made = [nn.MaxPool2d(pool, pair(layer.get("strides", pool)))]
        elif kind == "Dropout":
            made = [nn.Dropout(layer["rate"])]
        elif kind == "Flatten":
            made = [nn.Flatten()]
        elif kind == "Dense":
            made = [nn.Linear(size, layer["units"])]
        else:
            raise SystemExit(f"torch_step: unknown layer: {kind}")
        made += [activation() for activation in ACTIVATIONS[layer.get("activation", "linear")]]
        for module in made:
            example = module(example)
        modules += made
    return nn.Sequential(*modules), shape, example.shape[1]


def main():
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model, shape, classes = build(json.loads(options.network.read_text())["layers"])
    layout = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
    model = model.to(memory_format=layout).train()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.95, eps=1e-7)
    loss = nn.CrossEntropyLoss()
    batches = []
    for _ in range(NUM_BATCHES):
        features = torch.rand(options.batch, *shape)
        if len(shape) == 3:
            features = features.permute(0, 3, 1, 2).contiguous(memory_format=layout)
        batches.append((features, torch.randint(classes, (options.batch,))))

    threads = torch.get_num_threads()
    settings = f"torch {torch.__version__}, eager, {options.layout}, Adadelta, {threads} threads, batches made before"
    number = 0
    for line in sys.stdin:
        seconds = float(line.split()[1])
        steps = 0
        start = time.perf_counter()
        while steps < 2 or time.perf_counter() - start < seconds:
            features, labels = batches[number % NUM_BATCHES]
            optimizer.zero_grad(set_to_none=True)
            loss(model(features), labels).backward()
            optimizer.step()
            number += 1
            steps += 1
        speed = steps * options.batch / (time.perf_counter() - start)
        print(json.dumps({"samplesPerSecond": speed, "settings": settings}), flush=True)


main()
