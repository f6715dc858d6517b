package io.bloomery

import org.apache.spark.bloomery.Settings
import org.apache.spark.ml.param._
import org.apache.spark.sql.SparkSession
import scala.util.Try

/**
 * Params that the session gives to every estimator: `spark.bloomery.epochs=5` holds where epochs is not set. One that
 * only another kind of estimator has is left out; what none of them has, and is no other setting either, is an error.
 */
private[bloomery] object SessionDefaults {
  private val Prefix = Settings.Prefix

  private lazy val ofAnyEstimator: Seq[String] =
    Seq(new NeuralNetClassifier, new NeuralNetRegressor, new NeuralNetEstimator)
      .flatMap(_.params.map(_.name))
      .distinct
      .sorted

  /** Of two params that exclude each other, one that is set keeps the session from giving the other. */
  private val Exclusive = Seq(
    Set("batchSize", "globalBatchSize"),
    Set("featuresCol", "featuresCols"),
    Set("labelCol", "labelCols"),
    Set("validationIndicatorCol", "validationFraction"))

  /** For the params that are not set. */
  def of(params: Params, session: SparkSession): ParamMap = {
    val named = session.conf.getAll.collect {
      case (key, value) if key.startsWith(Prefix) && !Settings.Keys.contains(key) => key.drop(Prefix.length) -> value
    }
    val result = ParamMap.empty
    named.toSeq.sorted.foreach {
      case (name, _) if !ofAnyEstimator.contains(name) => throw unknown(name)
      case (name, value) if params.hasParam(name) =>
        val param = params.getParam(name)
        val excluded = Exclusive.filter(_(name)).flatten.exists { other =>
          other != name && params.hasParam(other) && params.isSet(params.getParam(other))
        }
        if (!params.isSet(param) && !excluded) result.put(parsed(param, value))
      case _ => ()
    }
    result
  }

  private def unknown(name: String): UserError = {
    val nearest = Names.nearest(name, ofAnyEstimator ++ Settings.Keys.map(_.drop(Prefix.length)))
    val meant = nearest.fold("docs/params.md lists them")(each => s"did you mean $Prefix$each?")
    new UserError(s"Unknown setting: $Prefix$name; $meant")
  }

  private def parsed(param: Param[_], text: String): ParamPair[_] = {
    def pair[T](wanted: String)(parse: => ParamPair[T]): ParamPair[T] = Try(parse).getOrElse {
      throw new UserError(s"$Prefix${param.name} must be $wanted: $text")
    }
    param match {
      case int: IntParam => pair("a whole number")(int -> text.trim.toInt)
      case long: LongParam => pair("a whole number")(long -> text.trim.toLong)
      case double: DoubleParam => pair("a number")(double -> text.trim.toDouble)
      case boolean: BooleanParam => pair("true or false")(boolean -> text.trim.toBoolean)
      case texts: StringArrayParam => texts -> parts(text).toArray
      case doubles: DoubleArrayParam =>
        pair("numbers with commas between them")(doubles -> parts(text).map(_.toDouble).toArray)
      case other => other.asInstanceOf[Param[String]] -> text
    }
  }

  private def parts(text: String): Seq[String] = text.split(",").toSeq.map(_.trim).filter(_.nonEmpty)
}
