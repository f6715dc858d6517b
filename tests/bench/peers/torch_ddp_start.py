"""How long PyTorch DDP takes to its first step when it is fed from a Parquet copy of a DataFrame, Spark being up.
Answers lines "run SECONDS" as competitor.py says, with one start each."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--sizes", type=json.loads, required=True, help="of the dense layers, from inputs to classes")
parser.add_argument("--data", required=True)
parser.add_argument("--features", required=True)
parser.add_argument("--label", required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--workers", type=int, required=True)
parser.add_argument("--rank", type=int)
parser.add_argument("--meeting", help="file where the workers meet")
options = parser.parse_args()


def work() -> None:
    """One worker: reads its files of the copy, then makes one step."""
    times = {"spawned": time.time()}
    import numpy as np
    import pyarrow.parquet as pq
    import torch
    import torch.distributed as dist
    from torch import nn

    times["imported"] = time.time()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{options.meeting}", rank=options.rank, world_size=options.workers
    )
    files = sorted(Path(options.data).glob("*.parquet"))[options.rank :: options.workers]
    table = pq.read_table([str(file) for file in files], columns=[options.features, options.label])
    column = table[options.features].combine_chunks()
    if hasattr(column, "values"):
        inputs = column.values.to_numpy().reshape(table.num_rows, -1)
    else:
        inputs = np.stack([np.frombuffer(image, np.uint8) for image in column.to_pylist()])
    rows = torch.utils.data.TensorDataset(
        torch.from_numpy(inputs.copy()), torch.from_numpy(table[options.label].to_numpy().copy())
    )
    loader = torch.utils.data.DataLoader(rows, options.batch, shuffle=True)
    pairs = zip(options.sizes, options.sizes[1:], strict=False)
    layers = [layer for a, b in pairs for layer in (nn.Linear(a, b), nn.ReLU())][:-1]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.Adam(model.parameters())
    features, labels = next(iter(loader))
    times["read"] = time.time()
    nn.functional.cross_entropy(model(features.float()), labels.long()).backward()
    optimizer.step()
    times["stepped"] = time.time()
    if options.rank == 0:
        print(json.dumps(times))
    dist.destroy_process_group()


def main() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{options.workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    data = spark.read.parquet(options.data).select(options.features, options.label)
    copied = data if data.rdd.getNumPartitions() >= options.workers else data.repartition(options.workers)
    settings = (
        f"Spark {spark.version} writes the copy, {options.workers} processes of one thread, batches of {options.batch}"
    )
    for _ in sys.stdin:
        folder = Path(tempfile.mkdtemp())
        begin = time.time()
        copied.write.parquet(str(folder / "copy"))
        written = time.time()
        command = [sys.executable, __file__, "--meeting", str(folder / "meeting"), *sys.argv[1:]]
        command += ["--data", str(folder / "copy")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        workers = [
            subprocess.Popen([*command, "--rank", str(rank)], env=environment, stdout=subprocess.PIPE, text=True)
            for rank in range(options.workers)
        ]
        times = json.loads(workers[0].communicate()[0])
        for worker in workers[1:]:
            worker.communicate()
        shutil.rmtree(folder)
        phases = {
            "copy": written - begin,
            "spawn": times["spawned"] - written,
            "import": times["imported"] - times["spawned"],
            "rows": times["read"] - times["imported"],
            "step": times["stepped"] - times["read"],
        }
        answers.write(
            json.dumps({"samplesPerSecond": 1 / sum(phases.values()), "phases": phases, "settings": settings}) + "\n"
        )
        answers.flush()


if options.rank is None:
    main()
else:
    work()
