package io.bloomery

import io.bloomery.engine.{Description, Engine, Json}
import org.apache.spark.SparkConf
import org.apache.spark.bloomery.{FitPlan, TrainRequest, WorkerCpus, WorkerMemory}
import org.apache.spark.ml.linalg.SQLDataTypes.VectorType
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types._

/** What a fit would do, as text for the user: one line for each thing to know. */
private[bloomery] final class FitDescription(params: TrainingParams, schema: StructType, conf: SparkConf) {

  def of(selected: DataFrame, request: TrainRequest): String = {
    val plan = FitPlan.of(selected, request)
    val told = Engine.describe(withBudget(plan.task))
    val lines = Seq(
      "Training" -> training(told),
      "Rows" -> plan.input,
      "Workers" -> plan.workers,
      "Columns" -> columns(told).mkString("\n"),
      "First step" -> firstStep(told),
      "Memory" -> (Seq(memory(told), rowMemory) ++ largestBatch(told)).mkString("\n"),
      "Threads" -> (s"${WorkerCpus.of(conf, request.workerCpus).text}; others assemble batches, exchange gradients" +
        " and read rows"),
      "Waits" -> waits(request),
      "Lost" -> lost(request),
      "Repeated" -> plan.repeats) ++ validation(plan).map("Validation" -> _)
    lines.map { case (title, text) => f"$title%-12s" + text.replace("\n", "\n" + " " * 12) }.mkString("\n")
  }

  private def validation(plan: FitPlan): Option[String] =
    params.get(params.validationFraction).filter(_ > 0).map { share =>
      s"$share of the rows are evaluated, not trained on; a row is chosen by the seed and ${plan.chosenBy}"
    }

  private def waits(request: TrainRequest): String =
    s"up to ${request.slotTimeout} s for task slots (slotTimeout), ${request.connectTimeout} s for workers to start" +
      s" (connectTimeout); one that is silent for ${request.stepTimeout} s counts as lost (stepTimeout)"

  /** What becomes of a fit that loses a worker. */
  private def lost(request: TrainRequest): String = {
    val jobs =
      if (request.maxRestarts == 0) "" else s", in up to ${count(request.maxRestarts + 1, "job")} (maxRestarts)"
    val from = request.checkpoints.fold("anew, since nothing is saved (checkpointPath)")(checkpoints =>
      s"from the newest checkpoint in ${checkpoints.path}, of which ${checkpoints.keep} stay")
    s"Spark's attempts at a stage begin $from$jobs"
  }

  private def training(told: Description): String = {
    val batch = told.globalBatchSize.fold(s"batches of ${told.batchSize} rows on each worker")(rows =>
      s"batches of $rows rows over all workers")
    s"${count(told.epochs, "epoch")} on ${count(params.getNumWorkers, "worker")}, $batch, ${told.parameters} parameters"
  }

  private def count(number: Int, what: String): String = if (number == 1) s"1 $what" else s"$number ${what}s"

  private def firstStep(told: Description): String = told.loadsFirst.fold(
    s"while rows still come: the first epoch draws from a buffer of ${told.shuffleBuffer} rows")(why =>
    s"after all rows are loaded: $why")

  private def columns(told: Description): Seq[String] = {
    val described = told.inputs.map { input =>
      val scale = if (input.scale == 1) "" else s", times ${input.scale}"
      s"input '${input.name}' is (${input.shape.mkString(", ")}) of ${input.dtype}$scale"
    }
    val inputs = params.inputs(told).columnsByInput.map { case (index, column) =>
      val (field, input) = (schema(column.name), told.inputs(index))
      line(field, s"input '${input.name}', ${conversion(field.dataType, column, input.dtype)}")
    }
    val labels = params.targets(told).all.zip(told.outputs).flatMap { case (target, output) =>
      target.columns.map(column => line(schema(column.name), label(told, target, column, output)))
    }
    val held = TaskJson.column(params, params.validationIndicatorCol).map(name =>
      line(schema(name), "marks rows that are evaluated, not trained on"))
    val weight = TaskJson.column(params, params.weightCol).map(name => line(schema(name), "weight of a row"))
    described ++ inputs ++ labels ++ weight ++ held
  }

  private def line(field: StructField, text: String): String = {
    val kind = if (field.dataType == VectorType) "vector" else field.dataType.simpleString
    s"${field.name} ($kind): $text"
  }

  private def label(told: Description, target: Target, column: LabelColumn, output: Description.Output): String = {
    val classifies = params match {
      case _: ClassificationParams => output.width > 1 || output.isBinary
      case _: RegressionParams => false
      case _ => output.tail == "softmax" || output.isBinary
    }
    val kind = column.words match {
      case Some(words) => s"index among ${words.length} words"
      case None if target.columns.length > 1 => "one of its values"
      case None if classifies => s"one of ${if (output.isBinary) 2 else output.width} classes"
      case None => if (output.width > 1) s"${output.width} values" else "a value"
    }
    if (told.outputs.length > 1) s"label of output '${output.name}', $kind" else s"label, $kind"
  }

  private def conversion(dataType: DataType, column: FeatureColumn, dtype: String): String =
    if (column.isCategory) s"index by ${column.rule}"
    else dataType match {
      case ArrayType(element, _) => s"values of the array, each ${conversion(element, column, dtype)}"
      case _: DecimalType => s"as a double, kept as $dtype"
      case BinaryType => s"bytes read as $dtype"
      case DateType => s"days since 1970, kept as $dtype"
      case TimestampType | TimestampNTZType => s"seconds since 1970, kept as $dtype"
      case other if other == VectorType => s"values of the vector, kept as $dtype"
      case other if Images.isImage(other) => "pixels in the order blue, green, red"
      case _ => s"kept as $dtype"
    }

  private def memory(told: Description): String =
    s"${mega(told.memoryBytes)} MB of each worker for the network: " + told.memoryParts.map { case (part, bytes) =>
      s"$part ${mega(bytes)}"
    }.mkString(", ")

  private def networkMemory: Option[Long] =
    WorkerMemory.network(conf, params.get(params.dataMemory), params.getNumWorkers, params.get(params.workerCpus))

  /** So that the engine looks for the largest batch. */
  private def withBudget(task: String): String =
    networkMemory.fold(task)(bytes => Json.parse(task, "task").put("memoryBudget", bytes).toString)

  private def largestBatch(told: Description): Option[String] = told.largestBatchSize.map { rows =>
    s"batches of up to $rows rows on each worker would fit beside the rows that it keeps"
  }

  private def rowMemory: String = {
    val rows = WorkerMemory.rows(
      conf,
      params.get(params.dataMemory),
      params.getNumWorkers,
      params.get(params.workerCpus))
    val budget = rows.fold("half of what is free on the executor, shared by its workers")(bytes => s"${mega(bytes)} MB")
    s"and for rows up to $budget, then local directories (dataMemory)"
  }

  private def mega(bytes: Long): String = f"${bytes / (1024.0 * 1024.0)}%.1f"
}
