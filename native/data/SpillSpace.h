// The memory that the stores of a worker may take together, and the disk beyond it: full chunks of rows go to unlinked
// files, so that nothing stays whichever way the process ends. Also lends the buffers into which chunks are read back;
// they are part of the same memory. Taking memory and writing is for the ingesting thread; reading and lending for any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/crypto/Cipher.h"
#include "data/SpillFile.h"

namespace bloomery::data {

class RowStore;

// Memory of one chunk.
struct FreeChunk {
  size_t bytes = 0;
  bool rests = false;   // for the next training, instead of going back to the system at once
  bool isFresh = true;  // its pages are still to come
  void operator()(std::byte* memory) const;
};
using ChunkMemory = std::unique_ptr<std::byte[], FreeChunk>;
// nullptr when memory is out.
ChunkMemory allocateChunk(size_t bytes);
ChunkMemory allocateRestingChunk(size_t bytes);

struct SpillOptions {
  int64_t memory = 0;                // bytes
  std::vector<std::string> folders;  // taken in turn
  std::optional<CipherKey> key;      // encrypts what goes to disk
};

class SpillSpace {
 public:
  // Where a chunk lies.
  struct Place {
    size_t file = 0;
    int64_t offset = 0;
    size_t bytes = 0;
  };

  explicit SpillSpace(SpillOptions options);
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  // The stores whose chunks may go to disk; they are borrowed.
  void add(RowStore& store) { stores_.push_back(&store); }
  // Memory for a store's next chunk; makes room first where there is none left. All chunks are of one size in memory.
  ChunkMemory take(size_t chunkBytes);
  // ResourceError, naming folder and bytes, when no folder takes it.
  Place write(std::span<const std::byte> chunk);

  // For a thread that reads: a cipher of its own where one is needed.
  std::unique_ptr<Cipher> makeCipher() const;
  // A whole chunk, into memory that was lent.
  void read(Place place, const ChunkMemory& to, Cipher* cipher) const;
  // Part of a chunk, from `offset` on.
  void read(Place place, int64_t offset, std::span<std::byte> to, Cipher* cipher) const;
  // Memory for a chunk that is read back, nullptr when all is lent.
  ChunkMemory borrow();
  void giveBack(ChunkMemory memory);
  size_t numReadBuffers() const;

 private:
  struct File {
    SpillFile disk;
    int64_t size = 0;  // a multiple of SpillFile::kAlignment
    bool failed = false;
  };

  ChunkMemory spillOne();
  void reserveReadBuffers(size_t chunkBytes);
  bool tryWrite(size_t file, std::span<const std::byte> chunk);

  SpillOptions options_;
  std::vector<RowStore*> stores_;
  std::vector<File> files_;
  size_t nextFile_ = 0;
  std::string lastFailure_;
  std::unique_ptr<Cipher> cipher_;
  std::vector<std::byte> encrypted_;  // a piece on its way to disk
  size_t bytesHeld_ = 0;              // chunks of the stores and read buffers
  bool spills_ = false;

  mutable std::mutex buffersMutex_;
  std::vector<ChunkMemory> buffers_;
  size_t numBuffers_ = 0;  // with those that are lent
};

}  // namespace bloomery::data
