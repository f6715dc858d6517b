package org.apache.spark.bloomery

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

class RowSpaceTest extends AnyFunSuite {
  private def memory(workersHere: Int, settings: (String, String)*): Long =
    RowSpace.defaultMemory(new SparkConf(false).setAll(settings), available = 8L << 30, workersHere)

  test("workers share half of the free memory where nothing limits an executor") {
    assert(memory(1, "spark.master" -> "local[4]") == (4L << 30))
    assert(memory(2, "spark.master" -> "spark://host:7077") == (2L << 30))
  }

  test("workers share half of the overhead where the cluster manager limits an executor") {
    Seq("yarn", "k8s://host").foreach { master =>
      assert(memory(1, "spark.master" -> master) == (192L << 20))
      assert(memory(1, "spark.master" -> master, "spark.executor.memory" -> "10g") == (512L << 20))
      assert(memory(2, "spark.master" -> master, "spark.executor.memoryOverhead" -> "4g") == (1L << 30))
    }
  }
}
