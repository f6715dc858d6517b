// Loops over rows and other items that are longer than a float: a kernel has `static void run(first, end, args...)`,
// always inlined, see base/SimdLoops.h, and works on the items [first, end).
#pragma once

#include <cstdint>

#include "base/SimdLoops.h"

namespace bloomery::nn {

// Over `count` items, each worth a thread's while when all together are `work` elements.
template <typename Kernel, typename... Args>
void runItems(int64_t count, int64_t work, Args... args) {
  constexpr int64_t kWorthThreads = 1 << 15;
  auto* run = Levels<Kernel>::template chosen<int64_t, int64_t, Args...>(simdLevel());
#pragma omp parallel for schedule(static) if (work > kWorthThreads)
  for (int64_t item = 0; item < count; ++item) run(item, item + 1, args...);
}

}  // namespace bloomery::nn
