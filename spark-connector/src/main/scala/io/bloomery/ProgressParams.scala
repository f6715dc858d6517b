package io.bloomery

import org.apache.spark.ml.param._

/** Params of how a fit is shown while it runs. */
trait ProgressParams extends Params {

  final val verbose: IntParam = new IntParam(
    this,
    "verbose",
    "0 is quiet, 1 shows progress on the driver's stderr, and in a notebook as a bar")

  final val tensorboardDir: Param[String] = new Param[String](
    this,
    "tensorboardDir",
    "a folder of any file system that Spark knows, in which each epoch's numbers are written for TensorBoard")

  setDefault(verbose -> 1)

  final def getVerbose: Int = $(verbose)
  final def getTensorboardDir: String = $(tensorboardDir)

  def setVerbose(value: Int): this.type = set(verbose, value)
  def setTensorboardDir(value: String): this.type = set(tensorboardDir, value)
}
