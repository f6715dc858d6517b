"""PyTorch's training step, or inference, on a network given as our JSON. Answers lines "run SECONDS" as competitor.py
says. Several workers are processes that train together by DistributedDataParallel over Gloo."""

import argparse
import itertools
import json
import math
import os
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--network", type=Path, required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--optimizer", required=True)
parser.add_argument("--loss", required=True)
parser.add_argument("--layout", choices=("nchw", "nhwc"), default="nchw")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--inference", action="store_true")
parser.add_argument("--workers", type=int, default=1)
parser.add_argument("--rank", type=int, default=0)
parser.add_argument("--port", type=int, default=0)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402, the number of threads has to stand first
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

NUM_BATCHES = 8
OPTIMIZERS = {
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-7),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3, eps=1e-7),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
}


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


class Convolution(nn.Module):
    """Keras's "same" pads unevenly where strides want it; even padding goes to the primitive itself."""

    def __init__(self, layer, channels, size):
        super().__init__()
        window, strides = pair(layer["kernelSize"]), pair(layer.get("strides", 1))
        self.uneven, padding = None, (0, 0)
        if layer.get("padding") == "same":
            totals = [max((math.ceil(e / s) - 1) * s + w - e, 0) for e, w, s in zip(size, window, strides, strict=True)]
            if any(total % 2 for total in totals):
                (top, left) = (total // 2 for total in totals)
                self.uneven = (left, totals[1] - left, top, totals[0] - top)
            else:
                padding = tuple(total // 2 for total in totals)
        bias = layer.get("useBias", True)
        self.inner = nn.Conv2d(channels, layer["filters"], window, strides, padding, bias=bias)

    def forward(self, x):
        return self.inner(x if self.uneven is None else F.pad(x, self.uneven))


class LastOutput(nn.Module):
    """An LSTM over sequences that are filled up with zeros at the end."""

    def __init__(self, features, units):
        super().__init__()
        self.inner = nn.LSTM(features, units, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.inner(packed)[1][0][0]


class Network(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.layers, self.inner, taken, previous = [], nn.ModuleDict(), set(), None
        for layer in network["layers"]:
            base = re.sub(r"(?<=[a-z])(?=[A-Z](?!LU|D\b))", "_", layer["kind"]).lower()
            names = (f"{base}_{n}" if n else base for n in itertools.count())
            name = layer.get("name") or next(name for name in names if name not in taken)
            taken.add(name)
            self.layers.append({**layer, "name": name, "inputs": layer.get("inputs", [previous])})
            previous = name
        self.inputs = [layer for layer in self.layers if layer["kind"] == "Input"]
        self.tokens = {layer["inputs"][0]: layer["inputDim"] for layer in self.layers if layer["kind"] == "Embedding"}
        with torch.no_grad():
            self(*self.batch(2), making=True)

    def batch(self, rows):
        made = []
        for layer in self.inputs:
            shape, limit = layer["shape"], self.tokens.get(layer["name"])
            if limit:
                lengths = torch.randint(1, shape[0] + 1, (rows,))
                filled = torch.arange(shape[0]) < lengths[:, None]
                made.append((torch.randint(1, limit, (rows, shape[0])) * filled, lengths))
            elif len(shape) == 3:
                made.append(torch.rand(rows, shape[2], shape[0], shape[1]))
            else:
                made.append(torch.rand(rows, *shape))
        return made

    def module(self, layer, given):
        kind, x = layer["kind"], given[0]
        if kind == "Conv2D":
            return Convolution(layer, x.shape[1], x.shape[2:])
        if kind == "BatchNormalization":
            module = nn.BatchNorm2d if x.dim() == 4 else nn.BatchNorm1d
            return module(x.shape[1], eps=layer.get("epsilon", 1e-3), momentum=1 - layer.get("momentum", 0.99))
        if kind == "Dense":
            return nn.Linear(x.shape[-1], layer["units"], bias=layer.get("useBias", True))
        if kind == "Embedding":
            return nn.Embedding(layer["inputDim"], layer["outputDim"], padding_idx=0)
        if kind == "LSTM":
            return LastOutput(x.shape[-1], layer["units"])
        return None

    def forward(self, *inputs, making=False):
        values, lengths, batches = {}, None, iter(inputs)
        for layer in self.layers:
            kind, name = layer["kind"], layer["name"]
            if kind == "Input":
                value = next(batches)
                if name in self.tokens:
                    value, lengths = value
                values[name] = value
                continue
            given = [values[one] for one in layer["inputs"]]
            x = given[0]
            if making and (module := self.module(layer, given)) is not None:
                self.inner[name] = module
            if kind == "LSTM":
                x = self.inner[name](x, lengths)
            elif name in self.inner:
                x = self.inner[name](x)
            elif kind == "Dropout":
                x = F.dropout(x, layer["rate"], self.training)
            elif kind == "Flatten":
                x = x.flatten(1)
            elif kind == "MaxPool2D":
                window = pair(layer.get("poolSize", 2))
                x = F.max_pool2d(x, window, pair(layer.get("strides", window)))
            elif kind == "AveragePool2D":
                window = pair(layer.get("poolSize", 2))
                x = F.avg_pool2d(x, window, pair(layer.get("strides", window)))
            elif kind == "GlobalAveragePool2D":
                x = x.mean((2, 3))
            elif kind == "ZeroPadding2D":
                (top, bottom), (left, right) = (pair(axis) for axis in pair(layer["padding"]))
                x = F.pad(x, (left, right, top, bottom))
            elif kind == "Add":
                x = given[0] + given[1]
            elif kind not in ("ReLU", "Activation"):
                raise SystemExit(f"torch_step: unknown layer: {kind}")
            if kind == "ReLU" or "relu" in (layer.get("activation"), layer.get("function")):
                x = F.relu(x)
            values[name] = x
        return values[self.layers[-1]["name"]]  # the loss takes logits


def loss_of(logits, target):
    if options.loss == "categorical_crossentropy":
        return F.cross_entropy(logits, target)
    if options.loss == "mse of softmax":
        return F.mse_loss(F.softmax(logits, -1), target)
    return F.mse_loss(logits, target)


class Workers:
    """The first worker starts the others and tells them how many steps to take: all have to take as many."""

    def __init__(self):
        self.others, self.steps_per_second = [], 1.0
        if options.workers == 1:
            return
        port = options.port
        if options.rank == 0:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            for rank in range(1, options.workers):
                command = [sys.executable, *sys.argv, "--rank", str(rank), "--port", str(port)]
                self.others.append(subprocess.Popen(command, stdin=subprocess.PIPE, text=True))
        place = f"tcp://127.0.0.1:{port}"
        dist.init_process_group("gloo", init_method=place, rank=options.rank, world_size=options.workers)

    def wrap(self, model):
        # Gradients in place in the buckets: the faster way.
        together = nn.parallel.DistributedDataParallel
        return model if options.workers == 1 else together(model, gradient_as_bucket_view=True)

    def meet(self):
        if options.workers > 1:
            dist.barrier()

    def steps(self, lines):
        """For each line of the first worker, how many; as fast as those before."""
        for line in lines:
            word, number = line.split()
            steps = int(number) if word == "steps" else max(2, round(float(number) * self.steps_per_second))
            for other in self.others:
                other.stdin.write(f"steps {steps}\n")
                other.stdin.flush()
            yield steps

    def end(self):
        for other in self.others:
            other.stdin.close()
            other.wait()


def main():
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    workers = Workers()
    model = Network(json.loads(options.network.read_text()))
    layout = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
    model = model.to(memory_format=layout).train(not options.inference)
    optimizer = OPTIMIZERS[options.optimizer](model.parameters())
    with torch.no_grad():
        classes = model(*model.batch(2)).shape[-1]
    batches = []
    for _ in range(NUM_BATCHES):
        made = [one.contiguous(memory_format=layout) if torch.is_tensor(one) and one.dim() == 4 else one
                for one in model.batch(options.batch)]  # fmt: skip
        labels = torch.randint(classes, (options.batch,))
        if options.loss == "mse of softmax":
            labels = F.one_hot(labels, classes).float()
        elif options.loss == "mse":
            labels = torch.rand(options.batch, classes)
        batches.append((made, labels))
    run = torch.compile(model) if options.compile else workers.wrap(model)

    def train(features, labels):
        optimizer.zero_grad(set_to_none=True)
        loss_of(run(*features), labels).backward()
        optimizer.step()

    def predict(features, labels):
        with torch.inference_mode():
            logits = run(*features)
            return F.softmax(logits, -1) if options.loss != "mse" else logits

    step = predict if options.inference else train
    mode = "compiled" if options.compile else "eager"
    together = f", DDP with gloo, {options.workers} workers" if options.workers > 1 else ""
    settings = (
        f"torch {torch.__version__}, {mode}, {options.layout}, {options.optimizer}, "
        f"{torch.get_num_threads()} threads{together}, batches made before"
    )
    number = 0
    for steps in workers.steps(sys.stdin):
        workers.meet()
        start = time.perf_counter()
        for _ in range(steps):
            step(*batches[number % NUM_BATCHES])
            number += 1
        workers.meet()
        workers.steps_per_second = steps / (time.perf_counter() - start)
        if options.rank > 0:
            continue
        speed = workers.steps_per_second * options.batch * options.workers
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"samplesPerSecond": speed, "peakBytes": peak, "settings": settings}), flush=True)
    workers.end()


main()
