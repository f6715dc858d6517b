// Large blocks of memory that whoever comes next takes again: fresh memory is cleared before it is handed out, which
// may take longer than filling it. What rests is the system's whenever it needs memory, and goes back to it after a
// while, when somebody says so. What is taken and what rests is together never more than was taken at once. For any
// thread.
#pragma once

#include <chrono>
#include <cstddef>

namespace bloomery {

struct RestedPages {
  void* memory = nullptr;  // as takePages gives it: nullptr when memory is out
  bool isFresh = true;     // else its pages are there already, unless the system took them meanwhile
};

// A block of exactly this size that rests, or else a fresh one, for which others may have to go back.
RestedPages takeRestedPages(size_t bytes, size_t alignment) noexcept;
// As it was taken here.
void restPages(void* memory, size_t bytes, size_t alignment) noexcept;
// Gives back to the system what has rested for so long.
void returnRestedPages(std::chrono::milliseconds age) noexcept;
size_t numRestingBytes() noexcept;

}  // namespace bloomery
