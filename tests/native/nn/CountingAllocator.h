// Replaces the allocation functions of the program it is linked into, and counts while told to. oneDNN builds a small
// table of arguments inside each call, which nobody can prevent: what libdnnl and libgomp ask for does not count.
#pragma once

#include <atomic>

namespace bloomery::nn {

struct AllocationCounts {
  std::atomic<bool> counting{false};
  std::atomic<int> numAllocations{0};
  std::atomic<int> numPrimitives{0};  // oneDNN primitives created, counted always
};
AllocationCounts& allocationCounts();

}  // namespace bloomery::nn
