#include "data/SpillSpace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/Error.h"
#include "base/Pages.h"
#include "base/RestingPages.h"
#include "data/Order.h"
#include "data/RowStore.h"

namespace bloomery::data {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;  // encrypted at once

}  // namespace

void FreeChunk::operator()(std::byte* memory) const {
  if (rests) return restPages(memory, bytes, SpillFile::kAlignment);
  returnPages(memory, bytes);
}

ChunkMemory allocateChunk(size_t bytes) {
  return ChunkMemory(static_cast<std::byte*>(takePages(bytes, SpillFile::kAlignment)), FreeChunk{bytes});
}

ChunkMemory allocateRestingChunk(size_t bytes) {
  RestedPages pages = takeRestedPages(bytes, SpillFile::kAlignment);
  return ChunkMemory(static_cast<std::byte*>(pages.memory), FreeChunk{bytes, true, pages.isFresh});
}

SpillSpace::SpillSpace(SpillOptions options) : options_(std::move(options)) {
  check(options_.memory >= 0, "Memory is negative: ", options_.memory);
  for (const std::string& folder : options_.folders) files_.push_back({SpillFile(folder)});
  cipher_ = makeCipher();
  if (cipher_ != nullptr) encrypted_.resize(kPieceBytes);
}

ChunkMemory SpillSpace::take(size_t chunkBytes) {
  if (bytesHeld_ + chunkBytes > static_cast<size_t>(options_.memory)) {
    if (!spills_) reserveReadBuffers(chunkBytes);
    spills_ = true;
    if (ChunkMemory memory = spillOne()) return memory;
    // Every store fills one chunk at a time, whatever the memory.
  }
  ChunkMemory memory = allocateRestingChunk(chunkBytes);
  if (memory == nullptr) {
    throw ResourceError(message("Out of memory for rows: ", bytesHeld_, " bytes held, ", chunkBytes,
                                " more wanted; lower dataMemory, now ", options_.memory));
  }
  bytesHeld_ += chunkBytes;
  return memory;
}

// Two windows of an Order, the one that is used and the one that is read ahead, in half of the memory; in little memory
// the one that is used, in all of it but a chunk for each store: rows of a window lie all over its blocks.
void SpillSpace::reserveReadBuffers(size_t chunkBytes) {
  size_t chunks = static_cast<size_t>(options_.memory) / chunkBytes;
  size_t window = static_cast<size_t>(Order::kMaxBlocksPerWindow);
  size_t besides = chunks - std::min(chunks, stores_.size());
  size_t wanted = std::min(2 * window, std::max(chunks / 2, std::min(window, besides)));
  std::lock_guard lock(buffersMutex_);
  buffers_.reserve(wanted);
  while (buffers_.size() < wanted) {
    ChunkMemory memory = spillOne();
    if (memory == nullptr) break;
    buffers_.push_back(std::move(memory));
  }
  numBuffers_ = buffers_.size();
}

ChunkMemory SpillSpace::spillOne() {
  auto store = std::max_element(stores_.begin(), stores_.end(), [](const RowStore* left, const RowStore* right) {
    return left->numSpillable() < right->numSpillable();
  });
  return store == stores_.end() || (*store)->numSpillable() == 0 ? nullptr : (*store)->spillOldest();
}

SpillSpace::Place SpillSpace::write(std::span<const std::byte> chunk) {
  for (size_t tries = 0; tries < files_.size(); ++tries) {
    size_t index = nextFile_++ % files_.size();
    if (!files_[index].failed && tryWrite(index, chunk)) {
      Place place{index, files_[index].size, chunk.size()};
      files_[index].size += static_cast<int64_t>(SpillFile::aligned(chunk.size()));
      return place;
    }
  }
  int64_t spilled = 0;
  for (const File& file : files_) spilled += file.size;
  std::string why = files_.empty() ? "no folder is given for them" : lastFailure_;
  throw ResourceError(message("Rows beyond dataMemory cannot be kept on disk: ", why, ", dataMemory: ", options_.memory,
                              " bytes, on disk so far: ", spilled,
                              " bytes; raise dataMemory, or give a folder with more space"));
}

bool SpillSpace::tryWrite(size_t index, std::span<const std::byte> chunk) {
  File& file = files_[index];
  bool good = true;
  if (cipher_ == nullptr) {
    good = file.disk.write(chunk, file.size);
  } else {
    for (size_t done = 0; good && done < chunk.size();) {
      auto piece = chunk.subspan(done, std::min(kPieceBytes, chunk.size() - done));
      int64_t offset = file.size + static_cast<int64_t>(done);
      cipher_->apply(index, static_cast<uint64_t>(offset), piece, encrypted_.data());
      good = file.disk.write(std::span(encrypted_).first(piece.size()), offset);
      done += piece.size();
    }
  }
  if (good) return true;
  lastFailure_ = message("folder ", file.disk.folder(), ", ", chunk.size(), " bytes: ", std::strerror(errno));
  file.failed = true;
  return false;
}

std::unique_ptr<Cipher> SpillSpace::makeCipher() const {
  return options_.key ? std::make_unique<Cipher>(*options_.key) : nullptr;
}

void SpillSpace::read(Place place, const ChunkMemory& to, Cipher* cipher) const {
  std::span bytes(to.get(), place.bytes);
  files_[place.file].disk.readPiece(place.offset, bytes);
  if (cipher != nullptr) cipher->apply(place.file, static_cast<uint64_t>(place.offset), bytes, bytes.data());
}

void SpillSpace::read(Place place, int64_t offset, std::span<std::byte> to, Cipher* cipher) const {
  int64_t at = place.offset + offset;
  files_[place.file].disk.read(at, to);
  if (cipher != nullptr) cipher->apply(place.file, static_cast<uint64_t>(at), to, to.data());
}

ChunkMemory SpillSpace::borrow() {
  std::lock_guard lock(buffersMutex_);
  if (buffers_.empty()) return nullptr;
  ChunkMemory memory = std::move(buffers_.back());
  buffers_.pop_back();
  return memory;
}

void SpillSpace::giveBack(ChunkMemory memory) {
  std::lock_guard lock(buffersMutex_);
  buffers_.push_back(std::move(memory));
}

size_t SpillSpace::numReadBuffers() const {
  std::lock_guard lock(buffersMutex_);
  return numBuffers_;
}

}  // namespace bloomery::data
