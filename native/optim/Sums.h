// Sums over slices of an arena that have the same bits on every vector level and for any number of threads: a slice is
// cut into pieces of a fixed length, a piece adds up in double in eight lanes, and pieces are added in their order.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "optim/Loops.h"
#include "tensor/Arena.h"

namespace bloomery::optim {

struct TwoSums {
  double first = 0, second = 0;

  TwoSums& operator+=(const TwoSums& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
};

// Adds summand(i) for i in [first, end): element i always goes to the same lane.
template <typename Summand>
[[gnu::always_inline]] inline TwoSums sumInLanes(size_t first, size_t end, Summand summand) {
  constexpr size_t kLanes = 8;
  double one[kLanes] = {}, two[kLanes] = {};
  size_t i = first;
  for (; i + kLanes <= end; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      TwoSums term = summand(i + lane);
      one[lane] += term.first;
      two[lane] += term.second;
    }
  }
  for (size_t lane = 0; i < end; ++i, ++lane) {
    TwoSums term = summand(i);
    one[lane] += term.first;
    two[lane] += term.second;
  }
  TwoSums total;
  for (size_t lane = 0; lane < kLanes; ++lane) total += {one[lane], two[lane]};
  return total;
}

// Keeps room for the sums of the longest slice's pieces, so that summing allocates nothing.
class SliceSums {
 public:
  SliceSums(const ArenaLayout& layout, SimdLevel level) : level_(level) {
    size_t longest = 0;
    for (const Slice& slice : layout.slices()) longest = std::max(longest, slice.size);
    pieces_.resize(numPieces(longest));
  }

  // What the kernel, `static TwoSums run(size_t first, size_t end, args...)`, gives for [0, size), the length of one
  // slice.
  template <typename Kernel, typename... Args>
  TwoSums over(size_t size, Args... args) {
    auto* run = Levels<Kernel>::template chosen<size_t, size_t, Args...>(level_);
    forPieces(size, [&](size_t piece, size_t first, size_t end) {
      FlushSubnormals flush;
      pieces_[piece] = run(first, end, args...);
    });
    TwoSums total;
    for (size_t piece = 0; piece < numPieces(size); ++piece) total += pieces_[piece];
    return total;
  }

 private:
  SimdLevel level_;
  std::vector<TwoSums> pieces_;
};

}  // namespace bloomery::optim
