package io.bloomery

/** Told of every epoch that has ended, on the driver while the workers wait; returns true to end the training. */
trait EpochCallback {
  def afterEpoch(record: EpochRecord): Boolean
}
