// How an optimizer's loop runs: split over the OpenMP team when it is long, compiled for each vector level from one
// source, with subnormal numbers flushed to zero (the state of a unit that gets no gradient decays into them, and they
// are a hundred times slower on many processors). No step depends on the split or the level, so neither do the bits.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>

#include "base/Simd.h"

namespace bloomery::optim {

class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kSubnormalsAreZero); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kSubnormalsAreZero = 0x0040;
  unsigned saved_;
};

inline constexpr size_t kPiece = 1 << 14;  // floats; a few arrays of this length stay in the second cache

// A kernel has `static void run(size_t first, size_t end, args...)`, always inlined: here it is compiled twice.
template <typename Kernel>
struct Levels {
  template <typename... Args>
  static auto baseline(size_t first, size_t end, Args... args) {
    return Kernel::run(first, end, args...);
  }
  template <typename... Args>
  __attribute__((target("avx2"))) static auto avx2(size_t first, size_t end, Args... args) {
    return Kernel::run(first, end, args...);
  }
};

// Runs the kernel over [0, size).
template <typename Kernel, typename... Args>
void runLoop(SimdLevel level, size_t size, Args... args) {
  auto* loop =
      level == SimdLevel::kAvx2 ? Levels<Kernel>::template avx2<Args...> : Levels<Kernel>::template baseline<Args...>;
  size_t numPieces = (size + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) if (numPieces > 4)
  for (size_t piece = 0; piece < numPieces; ++piece) {
    FlushSubnormals flush;
    loop(piece * kPiece, std::min(size, (piece + 1) * kPiece), args...);
  }
}

}  // namespace bloomery::optim
