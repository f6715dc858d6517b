package io.bloomery

import org.scalatest.funsuite.AnyFunSuite

class EpochRecordTest extends AnyFunSuite {
  test("metrics keep the engine's order, of training and of validation alike") {
    val names = Seq("accuracy", "auc", "precision", "recall", "top_2", "total_mae")
    val metrics = names.map(name => s""""$name": 0.5""").mkString("{", ", ", "}")
    val record = EpochRecord.fromJson(s"""{"epoch": 1, "metrics": $metrics, "validation": {"metrics": $metrics}}""")
    assert(record.metrics.keys.toSeq == names && record.validationMetrics.keys.toSeq == names)
  }

  test("samples a second are told of an epoch that took time") {
    assert(EpochRecord.fromJson("""{"samples": 600, "seconds": 2.0}""").samplesPerSecond == 300)
    assert(EpochRecord.fromJson("""{"samples": 0, "seconds": 0}""").samplesPerSecond == 0)
  }
}
