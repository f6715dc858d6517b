// Counts what a test program takes from the heap with `new`, on all threads. Link AllocationCounter.cc to use it.
#pragma once

#include <cstdint>

namespace bloomery {

uint64_t numAllocations();

}  // namespace bloomery
