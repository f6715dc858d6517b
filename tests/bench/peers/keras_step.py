"""TensorFlow's training step, or inference, on a network given as our JSON: Keras layers, one compiled graph. Answers
lines "run SECONDS" as competitor.py says."""

import argparse
import json
import os
import re
import resource
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--network", type=Path, required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--optimizer", required=True)
parser.add_argument("--loss", required=True)
parser.add_argument("--inference", action="store_true")
options = parser.parse_args()
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["OMP_NUM_THREADS"] = str(options.threads)
# TensorFlow tells much about itself while it loads: only failures are shown.
standard_error = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
sys.excepthook = lambda *failure: (os.dup2(standard_error, 2), sys.__excepthook__(*failure))

import keras  # noqa: E402, the settings have to stand first
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

NUM_BATCHES = 8
NOT_KERAS = {"kind", "inputs", "dtype", "scale", "name"}
NAMES = {"MaxPool2D": "MaxPooling2D", "AveragePool2D": "AveragePooling2D",
         "GlobalAveragePool2D": "GlobalAveragePooling2D"}  # fmt: skip
OPTIMIZERS = {
    "adadelta": lambda: keras.optimizers.Adadelta(1.0, 0.95, 1e-7),
    "adam": lambda: keras.optimizers.Adam(1e-3),
    "sgd": lambda: keras.optimizers.SGD(0.05),
}


def build(network):
    """Inputs, logits, and the limits of inputs that are tokens."""
    values, inputs, limits, previous = {}, [], {}, None
    for number, layer in enumerate(network["layers"]):
        name, kind = layer.get("name", f"layer{number}"), layer["kind"]
        given = layer.get("inputs", [previous])
        if kind == "Input":
            values[name] = keras.Input(layer["shape"], name=name)
            inputs.append(values[name])
        elif kind in ("ReLU", "Activation"):
            values[name] = keras.layers.Activation(layer.get("function", "relu"))(values[given[0]])
        else:
            settings = {re.sub("([A-Z])", r"_\1", key).lower(): value
                        for key, value in layer.items() if key not in NOT_KERAS}  # fmt: skip
            if settings.get("activation") == "softmax":
                del settings["activation"]  # the loss takes logits
            settings.pop("kernel_regularizer", None)
            if kind == "Embedding":
                limits[given[0]] = layer["inputDim"]
            made = getattr(keras.layers, NAMES.get(kind, kind))(**settings)
            values[name] = made(values[given[0]] if len(given) == 1 else [values[one] for one in given])
        previous = name
    return inputs, values[previous], limits


def loss_of(logits, target):
    if options.loss == "categorical_crossentropy":
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits))
    return tf.reduce_mean(tf.square((tf.nn.softmax(logits) if "softmax" in options.loss else logits) - target))


def main():
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(1)
    inputs, logits, limits = build(json.loads(options.network.read_text()))
    model = keras.Model(inputs, logits)
    optimizer = OPTIMIZERS[options.optimizer]()
    optimizer.build(model.trainable_variables)
    random, batches, classes = np.random.default_rng(1), [], logits.shape[-1]
    for _ in range(NUM_BATCHES):
        made = []
        for one in inputs:
            shape, limit = one.shape[1:], limits.get(one.name)
            if limit:
                filled = np.arange(shape[0]) < random.integers(1, shape[0] + 1, (options.batch, 1))
                made.append(tf.constant(random.integers(1, limit, (options.batch, shape[0])) * filled, tf.int32))
            else:
                made.append(tf.constant(random.random((options.batch, *shape), np.float32)))
        labels = random.integers(0, classes, options.batch)
        if options.loss == "mse of softmax":
            labels = np.eye(classes, dtype=np.float32)[labels]
        elif options.loss == "mse":
            labels = random.random((options.batch, classes), np.float32)
        batches.append((made, tf.constant(labels)))

    @tf.function
    def predict(features, labels):
        logits = model(features, training=False)
        return tf.nn.softmax(logits) if options.loss != "mse" else logits

    @tf.function
    def train(features, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(model(features, training=True), labels)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    step = predict if options.inference else train
    settings = (
        f"tensorflow {tf.__version__}, graph, {options.optimizer}, {options.threads} threads, batches made before"
    )
    number = 0
    for line in sys.stdin:
        seconds = float(line.split()[1])
        steps = 0
        start = time.perf_counter()
        while steps < 2 or time.perf_counter() - start < seconds:
            step(*batches[number % NUM_BATCHES]).numpy()
            number += 1
            steps += 1
        speed = steps * options.batch / (time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"samplesPerSecond": speed, "peakBytes": peak, "settings": settings}), flush=True)


main()
