// The OpenMP team of the calling thread, and of no other: its size, and how it computes.
#pragma once

namespace bloomery::train {

void setComputeThreads(int threads);

// Numbers too small for a float's full precision (below 1.2e-38) count as zero on the calling thread and its team from
// now on: processors are slow with them, and the moments of an optimizer fade into them. Never on a thread of the JVM,
// which relies on the ordinary rules.
void treatTinyNumbersAsZero();

}  // namespace bloomery::train
