"""Spark MLlib's MultilayerPerceptronClassifier: fit and transform of rows as flat_rows.py makes them. Answers lines
"run SECONDS" as competitor.py says, with one of both each; 0 seconds: two iterations, to warm up."""

import argparse
import json
import os
import sys
import time

from local_spark import session
from pyspark.ml.classification import MultilayerPerceptronClassifier
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.sql import functions as F

ITERATIONS = 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--sizes", type=json.loads, required=True, help="of the layers, from inputs to classes")
    parser.add_argument("--workers", type=int, required=True)
    options = parser.parse_args()
    spark = session(options.workers, "6g")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    data = spark.read.parquet(options.data).withColumn("features", array_to_vector("features"))
    train, test = data.where("not isTest"), data.where("isTest")
    blas = spark._jvm.dev.ludovic.netlib.blas.JavaBLAS.getInstance().getClass().getSimpleName()
    settings = (
        f"MultilayerPerceptronClassifier of Spark {spark.version}, local[{options.workers}], l-bfgs, {blas}, "
        f"layers {options.sizes}, blocks of 128"
    )
    correct = F.avg((F.col("prediction") == F.col("label")).cast("double"))
    loss = F.avg(-F.log(F.get(vector_to_array("probability"), F.col("label"))))
    for line in sys.stdin:
        iterations = ITERATIONS if float(line.split()[1]) else 2
        classifier = MultilayerPerceptronClassifier(layers=options.sizes, maxIter=iterations, seed=1)
        begin = time.perf_counter()
        model = classifier.fit(train)
        fitted = time.perf_counter()
        accuracy, test_loss = model.transform(test).agg(correct, loss).first()
        phases = {"fit": fitted - begin, "transform": time.perf_counter() - fitted}
        answer = {
            "samplesPerSecond": 1 / sum(phases.values()),
            "phases": phases,
            "accuracy": accuracy,
            "loss": test_loss,
            "epochs": model.summary().totalIterations,
            "settings": settings,
        }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
