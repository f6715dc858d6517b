// The size of the OpenMP team of the calling thread, and of no other.
#pragma once

namespace bloomery::train {

void setComputeThreads(int threads);

}  // namespace bloomery::train
