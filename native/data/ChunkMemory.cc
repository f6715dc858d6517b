#include "data/ChunkMemory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace bloomery::data {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLargePage = 2 << 20;
constexpr size_t kLargestPiece = 64 << 20;

size_t roundedUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Nothing of it is in memory before it is written. Large pages are not asked for: the system clears and finds them
// while rows wait, which took as long as all small ones, and longer where memory was scattered.
std::shared_ptr<std::byte> mapPiece(size_t bytes) {
  size_t mapped = bytes + kLargePage;
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  size_t before = (kLargePage - reinterpret_cast<uintptr_t>(start) % kLargePage) % kLargePage;
  auto* first = static_cast<std::byte*>(start) + before;
  return {first, [start, mapped](std::byte*) { munmap(start, mapped); }};
}

}  // namespace

void FreeChunk::operator()(std::byte* memory) const {
  if (piece == nullptr) std::free(memory);
}

ChunkMemory allocateChunk(size_t bytes) {
  return ChunkMemory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, roundedUp(bytes, kAlignment))));
}

// Each piece is as large as all before it together, up to the largest.
ChunkMemory ChunkPieces::take(size_t bytes) {
  size_t needed = roundedUp(bytes, kAlignment);
  if (used_ + needed > size_) {
    size_t wanted = roundedUp(std::max(needed, std::clamp(2 * size_, kLargePage, kLargestPiece)), kLargePage);
    std::shared_ptr<std::byte> piece = mapPiece(wanted);
    if (piece == nullptr) return nullptr;
    piece_ = std::move(piece);
    size_ = wanted;
    used_ = 0;
  }
  std::byte* memory = piece_.get() + used_;
  used_ += needed;
  return ChunkMemory(memory, FreeChunk{piece_});
}

}  // namespace bloomery::data
