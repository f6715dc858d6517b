// Gives buffers that are never alive at the same time the same memory. Times are any increasing numbers; a buffer is
// alive from its first to its last use, both included. Knows sizes and times only; whoever asks does the allocation.
#pragma once

#include <cstddef>
#include <vector>

namespace bloomery::nn {

struct BufferLife {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // of each buffer, multiples of 64
  size_t bytes = 0;             // of all together
};

MemoryPlan planMemory(const std::vector<BufferLife>& buffers);

}  // namespace bloomery::nn
