package io.bloomery

import io.bloomery.engine.Json
import org.apache.spark.bloomery.CheckpointRequest
import org.apache.spark.ml.param._

/** Params of checkpoints: where, when and how many are kept, and what is made of those that are there. */
trait CheckpointParams extends Params {

  final val checkpointPath: Param[String] = new Param[String](
    this,
    "checkpointPath",
    "a folder of any file system that Spark knows, in which the state of the training is saved; one for each fit")

  final val checkpointInterval: IntParam =
    new IntParam(this, "checkpointInterval", "epochs between two checkpoints, or -1 for none at the ends of epochs")

  final val checkpointSteps: LongParam = new LongParam(this, "checkpointSteps", "steps between two checkpoints")

  final val checkpointMinutes: DoubleParam =
    new DoubleParam(this, "checkpointMinutes", "minutes between two checkpoints")

  final val keepCheckpoints: IntParam =
    new IntParam(this, "keepCheckpoints", "how many checkpoints stay, the newest")

  final val resume: Param[String] = new Param[String](
    this,
    "resume",
    "what becomes of checkpoints in checkpointPath: auto goes on from the newest, weights takes its weights alone," +
      " never starts anew")

  final val maxRestarts: IntParam = new IntParam(
    this,
    "maxRestarts",
    "how often the training is submitted again when workers were lost in all attempts that Spark makes")

  setDefault(keepCheckpoints -> 2, resume -> "auto", maxRestarts -> 0)

  final def getCheckpointPath: String = $(checkpointPath)
  final def getCheckpointInterval: Int = $(checkpointInterval)
  final def getCheckpointSteps: Long = $(checkpointSteps)
  final def getCheckpointMinutes: Double = $(checkpointMinutes)
  final def getKeepCheckpoints: Int = $(keepCheckpoints)
  final def getResume: String = $(resume)
  final def getMaxRestarts: Int = $(maxRestarts)

  def setCheckpointPath(value: String): this.type = set(checkpointPath, value)
  def setCheckpointInterval(value: Int): this.type = set(checkpointInterval, value)
  def setCheckpointSteps(value: Long): this.type = set(checkpointSteps, value)
  def setCheckpointMinutes(value: Double): this.type = set(checkpointMinutes, value)
  def setKeepCheckpoints(value: Int): this.type = set(keepCheckpoints, value)
  def setResume(value: String): this.type = set(resume, value)
  def setMaxRestarts(value: Int): this.type = set(maxRestarts, value)
}

private[bloomery] object CheckpointParams {
  private val Resumes = Seq("auto", "weights", "never")

  /** What the params ask for; a UserError when they cannot be meant. */
  def request(from: CheckpointParams): Option[CheckpointRequest] = {
    import from._
    val path = get(checkpointPath).map(_.trim).filter(_.nonEmpty)
    if (path.isEmpty) {
      Seq(checkpointInterval, checkpointSteps, checkpointMinutes, keepCheckpoints, resume).find(isSet).foreach {
        param =>
          throw new UserError(s"${param.name} is set, but checkpointPath is not: set it, or leave ${param.name} out")
      }
    }
    if (!Resumes.contains(getResume)) {
      throw new UserError(s"resume must be ${Resumes.mkString(", ")}: $getResume")
    }
    if (get(checkpointInterval).exists(interval => interval < 1 && interval != -1)) {
      throw new UserError(s"checkpointInterval must be at least 1 epoch, or -1: $getCheckpointInterval")
    }
    if (getKeepCheckpoints < 1) throw new UserError(s"keepCheckpoints must be at least 1: $getKeepCheckpoints")
    if (getMaxRestarts < 0) throw new UserError(s"maxRestarts must be at least 0: $getMaxRestarts")
    path.map(CheckpointRequest(_, getKeepCheckpoints, getResume))
  }

  /** When the engine saves, as its task says it: after each epoch unless something else is asked for. */
  def json(from: CheckpointParams): Option[Any] = {
    import from._
    val others = isSet(checkpointSteps) || isSet(checkpointMinutes)
    request(from).map { _ =>
      Json.obj(
        "epochs" -> get(checkpointInterval).orElse(Option.when(!others)(1)).filter(_ > 0),
        "steps" -> get(checkpointSteps),
        "minutes" -> get(checkpointMinutes))
    }
  }
}
