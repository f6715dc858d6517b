// Memory of chunks of rows, cut from large pieces that go back to the system as a whole.
#pragma once

#include <cstddef>
#include <memory>

namespace bloomery::data {

// Memory of one chunk. Pieces go back to the system with the last chunk that was cut from them.
struct FreeChunk {
  std::shared_ptr<void> piece = {};  // empty: it is its own

  void operator()(std::byte* memory) const;
};
using ChunkMemory = std::unique_ptr<std::byte[], FreeChunk>;

// One by itself, nullptr when memory is out.
ChunkMemory allocateChunk(size_t bytes);

// For one thread.
class ChunkPieces {
 public:
  // The next chunk, nullptr when memory is out.
  ChunkMemory take(size_t bytes);

 private:
  std::shared_ptr<std::byte> piece_;
  size_t size_ = 0, used_ = 0;
};

}  // namespace bloomery::data
