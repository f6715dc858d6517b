package org.apache.spark.bloomery

import io.bloomery.engine.Json

/** How many rows each worker will get, where the files tell it before they are read, and whether their order stays. */
private[bloomery] object KnownRows {

  /** The engine's task with that in its section "data". */
  def addTo(task: String, input: Input): String = input match {
    case Input.Files(plan) =>
      val json = Json.parse(task, "task")
      val rows = json.withObject("/data").putArray("rowsOfWorkers")
      plan.rowsOfWorkers.foreach(count => rows.add(count))
      json.toString
    case spark: Input.BySpark if !spark.keepsOrder =>
      val json = Json.parse(task, "task")
      json.withObject("/data").put("unordered", true)
      json.toString
    case _ => task
  }
}
