// How an optimizer's loop runs: as base/SimdLoops.h does it, with subnormal numbers flushed to zero (the state of a
// unit that gets no gradient decays into them, and they are a hundred times slower on many processors). No step depends
// on the split or the level, so neither do the bits.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "base/SimdLoops.h"

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

// Runs the kernel, `static void run(size_t first, size_t end, args...)`, over [0, size). The flushing is outside the
// function that computes: the compiler does not know that one depends on the other.
template <typename Kernel, typename... Args>
void runLoop(SimdLevel level, size_t size, Args... args) {
  auto* run = Levels<Kernel>::template chosen<size_t, size_t, Args...>(level);
  forPieces(size, [&](size_t, size_t first, size_t end) {
    FlushSubnormals flush;
    run(first, end, args...);
  });
}

}  // namespace bloomery::optim
