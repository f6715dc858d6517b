// One source, compiled for each vector level: a kernel has `static void run(first, end, args...)`, always inlined, and
// works on the elements or rows [first, end). Which level runs is chosen at each call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/Simd.h"

namespace bloomery::nn {

template <typename Kernel>
struct Levels {
  template <typename... Args>
  static void baseline(int64_t first, int64_t end, Args... args) {
    Kernel::run(first, end, args...);
  }
  template <typename... Args>
  __attribute__((target("avx2,fma"))) static void avx2(int64_t first, int64_t end, Args... args) {
    Kernel::run(first, end, args...);
  }
};

// On the calling thread.
template <typename Kernel, typename... Args>
void runRange(int64_t first, int64_t end, Args... args) {
  if (simdLevel() == SimdLevel::kAvx2) {
    Levels<Kernel>::avx2(first, end, args...);
  } else {
    Levels<Kernel>::baseline(first, end, args...);
  }
}

// Over [0, size) in pieces of `piece`, by the OpenMP team when there are more than a few.
template <typename Kernel, typename... Args>
void runPieces(int64_t size, Args... args) {
  constexpr int64_t kPiece = 1 << 14;
  int64_t numPieces = (size + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) if (numPieces > 2)
  for (int64_t piece = 0; piece < numPieces; ++piece) {
    runRange<Kernel>(piece * kPiece, std::min(size, (piece + 1) * kPiece), args...);
  }
}

// Over `count` items, each worth a thread's while when all together are `work` elements.
template <typename Kernel, typename... Args>
void runItems(int64_t count, int64_t work, Args... args) {
  constexpr int64_t kWorthThreads = 1 << 15;
#pragma omp parallel for schedule(static) if (work > kWorthThreads)
  for (int64_t item = 0; item < count; ++item) runRange<Kernel>(item, item + 1, args...);
}

}  // namespace bloomery::nn
