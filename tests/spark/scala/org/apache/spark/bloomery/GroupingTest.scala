package org.apache.spark.bloomery

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class GroupingTest extends AnyFunSuite {
  test("every partition goes to exactly one worker, in ascending order and balanced") {
    forAll(Table(("partitions", "workers"), (7, 2), (0, 2), (1, 3), (2, 2), (100, 7), (5, 1))) {
      (partitions, workers) =>
        val groups = Grouping.roundRobin(partitions, workers)
        assert(groups.size == workers)
        assert(groups.flatten.sorted == (0 until partitions))
        assert(groups.forall(group => group == group.sorted))
        assert(groups.map(_.size).max - groups.map(_.size).min <= 1)
    }
  }
}
