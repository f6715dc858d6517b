"""Spark's TorchDistributor: a Parquet copy of the DataFrame, PyTorch DDP with Gloo on it, then the test rows through
predict_batch_udf. Answers lines "run SECONDS" as competitor.py says, with one of all that each; 0 seconds: trains on
the test rows, to warm up."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--name", choices=("mnist", "flights"), required=True)
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--words", type=Path, required=True, help="a list of the airports")
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--workers", type=int, required=True)
options = parser.parse_args()
os.environ.update(OMP_NUM_THREADS="1", PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)

from local_spark import session  # noqa: E402, the environment has to stand first
from pyspark.ml.feature import StringIndexerModel  # noqa: E402
from pyspark.ml.functions import predict_batch_udf  # noqa: E402
from pyspark.ml.torch.distributor import TorchDistributor  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from pyspark.sql.types import FloatType  # noqa: E402

COLUMNS = {
    "mnist": ["image", "label"],
    "flights": ["features", "originIndex", "destinationIndex", "late"],
}  # of the copy, the label last
PREDICT_BATCH = 1024


def network(name: str, words: int):
    """Takes a batch's inputs, gives logits."""
    import torch
    from torch import nn

    if name == "mnist":
        return nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)),
            *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU()),
            *(nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten()),
            *(nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)),
        )  # in the layout that PyTorch has by itself: channels last are slower here

    class Flights(nn.Module):
        def __init__(self):
            super().__init__()
            self.airport = nn.Embedding(words + 1, 8)
            self.dense = nn.Sequential(
                nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0)
            )

        def forward(self, numbers, origin, destination):
            return self.dense(torch.cat([numbers, self.airport(origin), self.airport(destination)], 1))

    return Flights()


def train(name: str, folder: str, columns: list, words: int, batch: int, epochs: int) -> dict:
    """One process: reads its files of the copy, trains, and gives weights and the times of its phases."""
    times = {"spawned": time.time()}
    import numpy as np
    import pyarrow.parquet as pq
    import torch
    import torch.distributed as dist
    import torch.nn.functional as functions
    from torch import nn

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    times["met"] = time.time()
    files = sorted(Path(folder).glob("*.parquet"))[rank::workers]
    table = pq.read_table([str(file) for file in files], columns=columns)

    def tensor(column: str):
        values = table[column].combine_chunks()
        if hasattr(values, "values"):
            numbers = values.values.to_numpy().reshape(len(values), -1)
        elif values.type == "binary":
            numbers = np.frombuffer(b"".join(values.to_pylist()), np.uint8).reshape(len(values), -1)
        else:
            numbers = values.to_numpy()
        return torch.from_numpy(numbers.copy())

    *inputs, labels = (tensor(column) for column in columns)
    labels = labels.long() if name == "mnist" else labels.float()
    # All ranks have to take as many steps: what is more than the smallest share is left out.
    steps = torch.tensor([-(-len(labels) // batch)] * 2) * torch.tensor([1, -1])
    dist.all_reduce(steps, dist.ReduceOp.MIN)
    if -steps[1] > 1.02 * steps[0] + 1:
        raise RuntimeError(f"The copy is divided unevenly: from {steps[0]} to {-steps[1]} steps")
    times["read"] = time.time()

    torch.manual_seed(1)
    model = network(name, words).train()
    together = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    if name == "mnist":
        optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.95, eps=1e-7)
        loss_of = functions.cross_entropy
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.002, eps=1e-7)
        loss_of = functions.binary_cross_entropy_with_logits
    torch.manual_seed(2 + rank)
    for epoch in range(epochs):
        # Whole batches by index: no rows are collated one by one, as a DataLoader would.
        for chosen in torch.randperm(len(labels)).split(batch)[: steps[0]]:
            batches = [one[chosen] for one in inputs]
            if name == "mnist":
                batches = [images.float() / 255 for images in batches]
            optimizer.zero_grad(set_to_none=True)
            loss_of(together(*batches), labels[chosen]).backward()
            optimizer.step()
        times[f"epoch {epoch + 1}"] = time.time()
    weights = {key: value.numpy() for key, value in model.state_dict().items()}
    dist.destroy_process_group()
    return {"times": times, "weights": weights, "torch": torch.__version__}


def make_predict(name: str, words: int, weights: dict):
    """Runs in each Python worker, once."""

    def make():
        import numpy as np
        import torch

        torch.set_num_threads(1)
        model = network(name, words).eval()
        model.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in weights.items()})

        def classes(images):
            pixels = np.frombuffer(b"".join(images), np.uint8).reshape(len(images), -1)
            with torch.inference_mode():
                return model(torch.from_numpy(pixels.copy()).float() / 255).argmax(1).float().numpy()

        def late(numbers, origin, destination):
            rows = [torch.from_numpy(np.ascontiguousarray(one)) for one in (numbers, origin, destination)]
            with torch.inference_mode():
                return (model(*rows) > 0).float().numpy()

        return classes if name == "mnist" else late

    return make


def phases_of(begin: float, copied: float, times: dict, trained: float, end: float) -> dict:
    marks = {"copy": copied, "spawn": times["spawned"], "import and meet": times["met"], "rows": times["read"]}
    marks |= {name: when for name, when in times.items() if name.startswith("epoch")}
    marks |= {"end": trained, "transform": end}
    befores = [begin, *marks.values()]
    return {name: after - before for (name, after), before in zip(marks.items(), befores, strict=False)}


def main() -> None:
    spark = session(options.workers, "2g")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    words = json.loads(options.words.read_text())
    columns = COLUMNS[options.name]

    def indexed(data):
        if options.name == "mnist":
            return data.select(*columns)
        places = ["origin", "destination"]
        index = StringIndexerModel.from_arrays_of_labels(
            [words, words], places, [f"{place}Number" for place in places], handleInvalid="keep"
        )
        numbers = index.transform(data)
        for place in places:
            numbers = numbers.withColumn(f"{place}Index", F.col(f"{place}Number").cast("int"))
        return numbers.select(*columns)

    distributor = TorchDistributor(num_processes=options.workers, local_mode=True, use_gpu=False)
    test = indexed(spark.read.parquet(options.test))
    for line in sys.stdin:
        data = indexed(spark.read.parquet(options.train)) if float(line.split()[1]) else test
        folder = Path(tempfile.mkdtemp())
        begin = time.time()
        copied = data if data.rdd.getNumPartitions() >= options.workers else data.repartition(options.workers)
        copied.write.parquet(str(folder / "copy"))
        written = time.time()
        result = distributor.run(
            train, options.name, str(folder / "copy"), columns, len(words), options.batch, options.epochs
        )
        trained = time.time()
        shapes = None if options.name == "mnist" else [[8], [], []]
        predict = predict_batch_udf(
            make_predict(options.name, len(words), result["weights"]),
            return_type=FloatType(),
            batch_size=PREDICT_BATCH,
            input_tensor_shapes=shapes,
        )
        correct = (predict(*columns[:-1]) == F.col(columns[-1])).cast("double")
        accuracy = test.agg(F.avg(correct)).first()[0]
        phases = phases_of(begin, written, result["times"], trained, time.time())
        shutil.rmtree(folder)
        settings = (
            f"TorchDistributor of Spark {spark.version} in local mode, torch {result['torch']}, eager, DDP with gloo, "
            f"{options.workers} processes of one thread, batches of {options.batch} each; then predict_batch_udf "
            f"with batches of {PREDICT_BATCH}"
        )
        answer = {"samplesPerSecond": 1 / sum(phases.values()), "phases": phases, "accuracy": accuracy}
        answers.write(json.dumps({**answer, "epochs": options.epochs, "settings": settings}) + "\n")
        answers.flush()


main()
