"""One fit with a budget for rows, in a process of its own: prints its time per row and how much memory it took as a
line of JSON."""

import argparse
import json

from growth_of_rows import network
from spark_session import session
from watch import Watch

from bloomery import NeuralNetClassifier

EPOCHS = 3
HEAP = "1g"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--features", type=int, required=True)
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--path", required=True)
    options = parser.parse_args()
    # All of the heap from the beginning: what grows is not the JVM's garbage.
    java = f"-Xms{HEAP} -XX:+AlwaysPreTouch"
    settings = {"spark.driver.memory": HEAP, "spark.bloomery.input.path": options.path}
    spark = session(1, java, **settings)
    data = spark.read.parquet(options.data)
    rows = data.count()
    estimator = NeuralNetClassifier(
        network=network(options.features),
        featuresCol="features",
        batchSize=1024,
        epochs=EPOCHS,
        dataMemory=options.memory,
        verbose=0,
    )
    watch = Watch(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    before = watch.now()
    watch.start()
    epochs = estimator.fit(data).summary.history
    seconds = [epoch["seconds"] for epoch in epochs]
    print(json.dumps({"rows": rows, "seconds": seconds, "peakBytes": watch.peak, "before": before}))


main()
