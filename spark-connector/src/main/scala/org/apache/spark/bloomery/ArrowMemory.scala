package org.apache.spark.bloomery

import org.apache.arrow.memory.{BufferAllocator, RootAllocator}

/** Arrow memory of this JVM: every task has a child of one root, which is empty between tasks. */
private[spark] object ArrowMemory {
  private lazy val root = new RootAllocator(Long.MaxValue)

  /** An allocator that refuses to close while anything allocated from it is alive. */
  def child(name: String): BufferAllocator = root.newChildAllocator(name, 0, Long.MaxValue)

  def allocatedBytes: Long = root.getAllocatedMemory
}
