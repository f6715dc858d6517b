"""Fits on files of a secured HDFS: the driver has its user's key, the executors nothing but his delegation token.

Prints what was learnt by each path as a line of JSON. test_kerberos.py runs it in a process of its own, because a JVM
learns of Kerberos when it starts.
"""

import argparse
import json
import os
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession, functions

import bloomery
from bloomery import layers

LOG4J = Path(__file__).resolve().parents[2] / "examples" / "log4j2.properties"


def session(folder: Path) -> SparkSession:
    os.environ["HADOOP_CONF_DIR"] = str(folder / "conf")
    os.environ.setdefault("SPARK_HOME", pyspark.__path__[0])
    java = f"-Dlog4j2.configurationFile=file:{LOG4J} -Djava.security.krb5.conf={folder / 'krb5.conf'}"
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.kerberos.principal", "trainer")
        .config("spark.kerberos.keytab", str(folder / "trainer.keytab"))
        .config("spark.driver.extraJavaOptions", java)
        .config("spark.executor.extraJavaOptions", java)
        .config("spark.executorEnv.HADOOP_TOKEN_FILE_LOCATION", str(folder / "tokens"))
    )
    return bloomery.configure(builder).getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    spark = session(options.folder)
    user = "java_method('org.apache.hadoop.security.UserGroupInformation', 'isSecurityEnabled') AS secure"
    secure = {row.secure for row in spark.range(0, 8, 1, 8).selectExpr(user).collect()}
    path = f"{options.url}/numbers"
    numbers = spark.range(0, 600, 1, 4).select(
        functions.array(*[functions.expr(f"float(hash(id, {i}) % 100) / 100") for i in range(3)]).alias("features"),
        functions.expr("int(hash(id, 0) % 100 > 0) AS label"),
    )
    numbers.write.parquet(path)
    network = bloomery.Sequential(layers.Input(3), layers.Dense(8, "relu"), layers.Dense(2, "softmax"))
    classifier = bloomery.NeuralNetClassifier(
        network=network, optimizer="adam", learningRate=0.05, batchSize=20, epochs=4, numWorkers=2, verbose=0
    )
    fits = {}
    files = spark.read.parquet(path)
    for way, data in {"parquet": files, "mixed": files.where("label >= 0"), "columnar": files, "rows": files}.items():
        spark.conf.set("spark.bloomery.input.path", way)
        summary = classifier.fit(data).summary
        last = summary.history[-1]
        fits[way] = {"input": summary.input, "samples": last["samples"], "accuracy": last["metrics"]["accuracy"]}
    user_name = spark.sparkContext.sparkUser()
    spark.stop()
    print(json.dumps({"secure": sorted(secure), "user": user_name, "fits": fits}))


main()
