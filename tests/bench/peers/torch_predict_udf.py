"""PyTorch behind Spark's predict_batch_udf over a Parquet folder. Answers lines "run SECONDS" as competitor.py says."""

import argparse
import itertools
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--model", choices=("mnist-cnn", "small-mlp"), required=True)
parser.add_argument("--data", required=True)
parser.add_argument("--features", required=True)
parser.add_argument("--cores", type=int, required=True)
options = parser.parse_args()
os.environ.update(OMP_NUM_THREADS="1", PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)

from pyspark.ml.functions import predict_batch_udf  # noqa: E402, the environment has to stand first
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql.functions import col  # noqa: E402
from pyspark.sql.types import ArrayType, FloatType  # noqa: E402

BATCH = 1024
SIZES = {"mnist-cnn": 784, "small-mlp": 50}


def make_predict(model: str):
    """Runs in each Python worker, once."""

    def make():
        import torch
        from torch import nn

        torch.set_num_threads(1)
        if model == "mnist-cnn":
            network = nn.Sequential(
                nn.Unflatten(1, (1, 28, 28)),
                *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
                *(nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10), nn.Softmax(-1)),
            )
        else:
            sizes = (50, 500, 250, 130)
            hidden = [(nn.Linear(a, b), nn.ReLU()) for a, b in itertools.pairwise(sizes)]
            network = nn.Sequential(*(one for pair in hidden for one in pair), nn.Linear(130, 10), nn.Softmax(-1))
        network.eval()

        def predict(inputs):
            with torch.inference_mode():
                return network(torch.from_numpy(inputs)).numpy()

        return predict

    return make


def main() -> None:
    spark = (
        SparkSession.builder.master(f"local[{options.cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    data = spark.read.parquet(options.data)
    rows = data.count()
    predict = predict_batch_udf(
        make_predict(options.model),
        return_type=ArrayType(FloatType()),
        batch_size=BATCH,
        input_tensor_shapes=[[SIZES[options.model]]],
    )
    settings = (
        f"Spark {spark.version}, local[{options.cores}], one torch thread a task, batches of {BATCH}, {rows} rows"
    )
    for line in sys.stdin:
        seconds = float(line.split()[1])
        passes, start = 0, time.perf_counter()
        while passes == 0 or time.perf_counter() - start < seconds:
            predicted = data.select(predict(col(options.features)).alias("probability"))
            predicted.write.format("noop").mode("overwrite").save()
            passes += 1
        speed = passes * rows / (time.perf_counter() - start)
        answers.write(json.dumps({"samplesPerSecond": speed, "peakBytes": 0, "settings": settings}) + "\n")
        answers.flush()


main()
