package org.apache.spark.bloomery

import org.apache.spark.BarrierTaskContext

import io.bloomery.engine.NativeTrainer

/** The rows of one worker, on their way into its trainer. Used on the task thread. */
private[bloomery] trait Feed {

  /** Tells the trainer its columns and hands over every row once; reports while it does. */
  def into(trainer: NativeTrainer, context: BarrierTaskContext, reporter: Reporter): Unit
}
