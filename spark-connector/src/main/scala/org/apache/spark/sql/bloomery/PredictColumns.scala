package org.apache.spark.sql.bloomery

import org.apache.spark.bloomery.SharedModel
import org.apache.spark.sql.{classic, Column, DataFrame, Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types.StructField

/** Adds a model's predictions to a DataFrame as one node of its plan; no job runs. */
object PredictColumns {

  def add(
      dataset: Dataset[_],
      features: Column,
      made: Seq[PredictedField],
      model: SharedModel,
      task: String): DataFrame = {
    val session = dataset.sparkSession.asInstanceOf[classic.SparkSession]
    register(session)
    val (attribute, child) = resolve(dataset, features)
    val predict = Predict(
      attribute,
      made.map(column => newAttribute(column.field)),
      made.map(_.kind),
      keepsFeatures = true,
      model.spec(task, session.sparkContext),
      child)
    // Aliases get new ids when a plan meets itself in a join; attributes of our node would not.
    val names = predict.predictions.map(made => Alias(made, made.name)())
    classic.Dataset.ofRows(session, Project(analyzed(dataset).output ++ names, predict))
  }

  /** The attribute that holds the features, in the plan itself or in a projection that makes it. */
  private def resolve(dataset: Dataset[_], features: Column): (Attribute, LogicalPlan) =
    analyzed(dataset.select(col("*"), features)) match {
      case Project(_ :+ (attribute: AttributeReference), child) => (attribute, child)
      case projected => (projected.output.last, projected)
    }

  private def analyzed(dataset: Dataset[_]): LogicalPlan =
    dataset.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed

  private def newAttribute(field: StructField): Attribute =
    AttributeReference(field.name, field.dataType, field.nullable, field.metadata)()

  private def register(session: classic.SparkSession): Unit = session.experimental.synchronized {
    val experimental = session.experimental
    if (!experimental.extraStrategies.contains(PredictStrategy)) {
      experimental.extraStrategies :+= PredictStrategy
      experimental.extraOptimizations :+= PrunePredictions
    }
  }
}
