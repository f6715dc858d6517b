// Large blocks of memory that whoever comes next takes again: fresh memory is cleared before it is handed out, which
// may take longer than filling it. What rests is the system's whenever it needs memory, and goes back to it after a
// while, when somebody says so. Never more rests than was taken at once. For any thread.
#pragma once

#include <chrono>
#include <cstddef>

namespace bloomery {

struct RestedPages {
  void* memory = nullptr;  // as takePages gives it: nullptr when memory is out
  bool isFresh = true;     // else its pages are there already, unless the system took them meanwhile
};

// A block of exactly this size that rests, or else a fresh one, for which so much of other sizes goes back.
RestedPages takeRestedPages(size_t bytes, size_t alignment) noexcept;
// `bytes` as it was taken, here or by takePages with this alignment.
void restPages(void* memory, size_t bytes, size_t alignment) noexcept;
// Gives back to the system what has rested for so long.
void returnRestedPages(std::chrono::milliseconds age) noexcept;
size_t numRestingBytes() noexcept;

}  // namespace bloomery
