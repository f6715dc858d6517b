// Large blocks of memory, straight from the system and back to it at once. The host's allocator would keep what is let
// go, in a pool for each of its threads: after a few trainings a JVM holds hundreds of megabytes that nobody uses.
// Whoever takes a block keeps its size. For any thread.
#pragma once

#include <cstddef>

namespace bloomery {

// Aligned to `alignment`, a power of two; nullptr when memory is out. Small blocks are the allocator's.
void* takePages(size_t bytes, size_t alignment) noexcept;
// For a block, or a part of one, that will be filled: all its pages come at once, which takes four fifths of the time
// that they take one by one, as they are touched. Where the system cannot do that, they come so.
void bringPages(void* memory, size_t bytes) noexcept;
// Of a block that rests: the system may take its pages whenever it needs memory, till they are written
// again, and what they hold is lost. False where they would have to be given back for that.
bool lendPages(void* memory, size_t bytes) noexcept;
// `bytes` as it was taken; nullptr is nothing.
void returnPages(void* memory, size_t bytes) noexcept;

}  // namespace bloomery
