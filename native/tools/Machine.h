// What this machine and this process can do and have used: yardsticks of the benchmarks.
#pragma once

#include <cstdint>

namespace bloomery::tools {

// Multiply-adds of the widest vectors that the processor has, on so many threads, in 1e9 operations a second (a
// multiply-add is two).
double peakGigaflops(int threads, double seconds);

// The largest resident memory of this process so far.
int64_t peakMemoryBytes();

}  // namespace bloomery::tools
