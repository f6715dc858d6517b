// One source, compiled for each vector level: a kernel is a struct with `static ... run(...)`, always inlined, of plain
// arithmetic, so that every level gives the same bits. For modules that use OpenMP; all memory is the caller's.
#pragma once

#include <algorithm>

#include "base/Simd.h"

namespace bloomery {

template <typename Kernel>
struct Levels {
  template <typename... Args>
  static auto baseline(Args... args) {
    return Kernel::run(args...);
  }
  template <typename... Args>
  __attribute__((target("avx2,fma"))) static auto avx2(Args... args) {
    return Kernel::run(args...);
  }
  // A pointer to the one for this level.
  template <typename... Args>
  static auto chosen(SimdLevel level) {
    return level == SimdLevel::kAvx2 ? avx2<Args...> : baseline<Args...>;
  }
};

inline constexpr int kPiece = 1 << 14;  // floats; a few arrays of this length stay in the second cache

template <typename Index>
Index numPieces(Index size) {
  return (size + kPiece - 1) / kPiece;
}

// Calls work(piece, first, end) for the pieces of [0, size), on the OpenMP team when there are more than a few.
template <typename Index, typename Work>
void forPieces(Index size, const Work& work) {
  Index count = numPieces(size);
#pragma omp parallel for schedule(static) if (count > 4)
  for (Index piece = 0; piece < count; ++piece) work(piece, piece * kPiece, std::min(size, (piece + 1) * kPiece));
}

// The kernel's run(first, end, args...) over the pieces of [0, size).
template <typename Kernel, typename Index, typename... Args>
void runPieces(SimdLevel level, Index size, Args... args) {
  auto* run = Levels<Kernel>::template chosen<Index, Index, Args...>(level);
  forPieces(size, [&](Index, Index first, Index end) { run(first, end, args...); });
}

}  // namespace bloomery
