package org.apache.spark.bloomery

/** What a worker's task returns of a training; a failure that Spark must not try again is a result as well. */
private[bloomery] sealed trait TaskResult extends Serializable {
  def endsTask: Boolean = false
}

private[bloomery] object TaskResult {

  /** The epochs as this worker saw them, each as JSON, and what its threads did. */
  final case class Trained(rank: Int, history: Seq[String], trace: WorkerTrace) extends TaskResult

  /** A slice of the weights, so that no record grows with the model. */
  final case class Weights(index: Int, bytes: Array[Byte]) extends TaskResult

  final case class Broken(rank: Int, failure: Failure) extends TaskResult {
    override def endsTask: Boolean = true
  }

  /** This worker ended because another one failed. */
  final case class Stopped(rank: Int, by: Int) extends TaskResult {
    override def endsTask: Boolean = true
  }

  private val PieceBytes = 16 << 20

  def pieces(weights: Array[Byte]): Iterator[TaskResult] =
    weights.grouped(PieceBytes).zipWithIndex.map { case (bytes, index) => Weights(index, bytes) }
}
