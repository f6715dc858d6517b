#include "base/Pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace bloomery {

namespace {

constexpr size_t kMappedFrom = 256 << 10;

size_t roundedUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t pageBytes() {
  static const size_t bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// AddressSanitizer sees only what its own allocator gave.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kMaps = false;
#else
constexpr bool kMaps = true;
#endif

bool isMapped(size_t bytes) { return kMaps && bytes >= kMappedFrom; }

}  // namespace

void* takePages(size_t bytes, size_t alignment) noexcept {
  if (!isMapped(bytes)) return std::aligned_alloc(alignment, roundedUp(bytes, alignment));
  size_t page = pageBytes(), length = roundedUp(bytes, page);
  size_t beyond = alignment > page ? alignment : 0;  // what must be cut off to begin at a multiple
  void* mapped = ::mmap(nullptr, length + beyond, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (beyond == 0) return mapped;
  auto* start = static_cast<std::byte*>(mapped);
  size_t before = roundedUp(reinterpret_cast<uintptr_t>(start), alignment) - reinterpret_cast<uintptr_t>(start);
  if (before > 0) ::munmap(start, before);
  if (beyond > before) ::munmap(start + before + length, beyond - before);
  return start + before;
}

void bringPages(void* memory, size_t bytes) noexcept {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, of Linux 5.14 and later; earlier headers lack it
  if (!isMapped(bytes)) return;
  size_t before = reinterpret_cast<uintptr_t>(memory) % pageBytes();
  ::madvise(static_cast<std::byte*>(memory) - before, before + bytes, kPopulateWrite);
}

bool lendPages(void* memory, size_t bytes) noexcept {
  return isMapped(bytes) && ::madvise(memory, roundedUp(bytes, pageBytes()), MADV_FREE) == 0;
}

void returnPages(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return;
  if (!isMapped(bytes)) return std::free(memory);
  ::munmap(memory, roundedUp(bytes, pageBytes()));
}

}  // namespace bloomery
