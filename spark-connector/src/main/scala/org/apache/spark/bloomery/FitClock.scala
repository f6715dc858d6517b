package org.apache.spark.bloomery

/**
 * How far a training had come at which time of the driver's clock, for what its phases took. Each stage attempt and each
 * job overwrites what the one before noted. Written by the control channel's thread and by the one that called fit.
 */
private[bloomery] final class FitClock {
  @volatile private var submitted = Option.empty[Long]
  @volatile private var met, finished = 0L

  /** The first job is on its way; others belong to the wait for the workers. */
  def submit(): Unit = if (submitted.isEmpty) submitted = Some(ControlChannel.micros())

  /** All workers are there. */
  def meet(): Unit = met = ControlChannel.micros()

  /** The first worker has taken its last step. */
  def finish(): Unit = finished = ControlChannel.micros()

  def times: FitTimes = FitTimes(submitted.getOrElse(0L), met, finished)
}

/** Microseconds of the driver's clock at which the job was submitted, the workers had met and the last step was taken. */
final case class FitTimes(submitted: Long, met: Long, finished: Long) {

  /**
   * The seconds of a fit that `began` and `ended` at these times, by phase, which add up to all of them. Workers tell
   * what their epochs took in training and in validation; what is left of their time they loaded rows before the first
   * step, or wrote checkpoints.
   */
  def phases(began: Long, ended: Long, training: Double, validation: Double): Seq[(String, Double)] = {
    val work = seconds(met, finished)
    // Epochs of a training that was gone on with count no longer than this fit worked.
    val trained = math.min(training, work)
    val validated = math.min(validation, work - trained)
    Seq(
      "preparing" -> seconds(began, submitted),
      "starting" -> seconds(submitted, met),
      "loading" -> (work - trained - validated),
      "training" -> trained,
      "validation" -> validated,
      "returning" -> seconds(finished, ended))
  }

  private def seconds(from: Long, to: Long): Double = (to - from) / 1e6
}

object FitTimes {

  /** The clock's time. */
  def now(): Long = ControlChannel.micros()
}
