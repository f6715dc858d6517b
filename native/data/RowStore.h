// The rows of one worker, column by column, each in its own type: a uint8 image stays one byte a pixel. One thread, the
// ingesting one, appends; meanwhile others may read, through a RowReader, rows that were published. Rows lie in fixed
// chunks of at most about 1 MiB, which are also the blocks of an Order. What follows from the rows before takes
// nothing: ids that count on, and weights where all are 1. Full chunks may go to disk to make room: a SpillSpace says
// when.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "data/ContentPrint.h"
#include "data/RowFormat.h"
#include "data/SpillSpace.h"

namespace bloomery::data {

// What readers may count on while rows still come.
struct Arrived {
  int64_t rows = 0;
  bool all = false;  // no more will come
};

class RowStore {
 public:
  // space: borrowed; nullptr keeps everything in memory.
  explicit RowStore(RowFormat format, SpillSpace* space = nullptr);

  // Whether a target is kept as class or as values is known once its column is seen: call before the first row. Changes
  // nothing that a Batch or a Batcher looks at when it is made, which another thread may do meanwhile.
  void settleTarget(size_t target, bool isClass);

  // Adds a row, whose features and targets are to be filled by the caller at once; its weight is 1 where the format has
  // none. ResourceError when memory is out.
  void append(uint64_t rowId, float weight);
  // Adds rows that weigh 1 and have this and the following ids: as many of them as lie one behind the other, at least
  // one. Returns how many.
  int64_t appendRows(uint64_t firstId, int64_t count);
  // For rows of one input and one class: adds a row and returns the place of its features.
  std::byte* append(uint64_t rowId, int32_t label, float weight);
  // Forgets the rows and keeps the memory for the next ones.
  void clear() {
    numRows_ = 0;
    idHash_ = 0;
    contents_.clear();
  }

  // From the next row on, `contents` and `idHash` are kept: call when all columns have their places, and then `filled`
  // for all rows.
  void printContents();
  // These rows of one chunk hold what they will.
  void filled(int64_t row, int64_t count);

  // The ingesting thread says that all rows appended so far are filled, and that no more will come.
  void publish() { publish(false); }
  void finish() { publish(true); }
  // Any thread: waits till so many rows are published or all have come, at most as long as it has patience.
  Arrived awaitRows(int64_t count, std::chrono::milliseconds patience) const;
  bool awaitAll(std::chrono::milliseconds patience) const;

  const RowFormat& format() const { return format_; }
  int64_t numRows() const { return numRows_.load(std::memory_order_relaxed); }
  // Of the ids of all rows in their order; for the ingesting thread, and for others once all rows are there.
  uint64_t idHash() const { return idHash_; }
  // Likewise of what they hold, in any order, without what only all rows settle.
  uint64_t contents() const { return contents_.sum(); }
  // Rows in one chunk, a pure function of the format: what 1 MiB holds of rows with ids and weights of their own, so
  // that the order of rows is the same whether they have them or not.
  int64_t rowsPerBlock() const { return rowsPerBlock_; }
  size_t bytesPerRow() const;  // with id and weight
  size_t memoryBytes() const { return (chunks_.size() - numSpilled_) * chunkBytes_; }

  // The ingesting thread: how many chunks could go to disk; sends the oldest there and returns its memory.
  size_t numSpillable() const { return static_cast<size_t>(numRows() / rowsPerBlock_) - numSpilled_; }
  ChunkMemory spillOldest();

  // Of rows in memory, on the ingesting thread; on others, once all rows are there and none is on disk.
  uint64_t rowId(int64_t row) const;
  float weight(int64_t row) const { return *reinterpret_cast<float*>(place(row, weight_)); }
  const std::byte* features(int64_t row, size_t input = 0) const { return place(row, features_[input]); }
  std::byte* features(int64_t row, size_t input = 0) { return place(row, features_[input]); }
  // A target that is kept as class, and one that is kept as values.
  int32_t label(int64_t row, size_t target = 0) const {
    return *reinterpret_cast<int32_t*>(place(row, targets_[target]));
  }
  const float* values(int64_t row, size_t target = 0) const {
    return reinterpret_cast<float*>(place(row, targets_[target]));
  }
  // Of a format with weights.
  void setWeight(int64_t row, float weight) { *reinterpret_cast<float*>(place(row, weight_)) = weight; }
  // Of this row and those behind it in its chunk.
  int32_t* labels(int64_t row, size_t target) { return reinterpret_cast<int32_t*>(place(row, targets_[target])); }
  void setLabel(int64_t row, size_t target, int32_t label) {
    *reinterpret_cast<int32_t*>(place(row, targets_[target])) = label;
  }
  float* values(int64_t row, size_t target = 0) { return reinterpret_cast<float*>(place(row, targets_[target])); }

 private:
  friend class RowReader;
  friend class StoredRow;

  struct Chunk {
    ChunkMemory memory;  // nullptr: on disk
    SpillSpace::Place place = {};
    // Ids count on from this one, unless they are kept row by row.
    uint64_t firstId = 0;
    bool hasIds = false;
  };

  // Where a column begins in every chunk, the bytes of a row, and how far apart rows are: not at all where all have one
  // value.
  struct Column {
    size_t offset = 0;
    size_t bytes = 0;
    size_t stride = 0;
  };

  struct Spot {
    std::byte* chunk;
    size_t index;  // of the row in it
  };
  Spot spotOf(int64_t row) const {
    // Rows are mostly filled where they were appended, and a division takes as long as copying a short row.
    if (row >= newestFirst_ && newest_ != nullptr) return {newest_, static_cast<size_t>(row - newestFirst_)};
    std::byte* chunk = chunks_[static_cast<size_t>(row / rowsPerBlock_)].memory.get();
    if (chunk == nullptr) throwOnDisk(row);
    return {chunk, static_cast<size_t>(row % rowsPerBlock_)};
  }
  static std::byte* place(const Spot& spot, const Column& column) {
    return spot.chunk + column.offset + spot.index * column.stride;
  }
  std::byte* place(int64_t row, const Column& column) const { return place(spotOf(row), column); }
  [[noreturn]] static void throwOnDisk(int64_t row);
  void layOut();
  void addChunk();
  void keepIds(Chunk& chunk, size_t numRows);
  void publish(bool all);

  RowFormat format_;
  int64_t rowsPerBlock_ = 1;
  std::vector<Column> features_, targets_;  // by input and by output
  Column weight_;
  Column rowId_;  // the last one, so that a chunk without it is the shorter
  size_t chunkBytes_ = 0;
  SpillSpace* space_;
  mutable std::mutex chunksMutex_;  // the ingesting thread, which alone changes the chunks, reads them without it
  std::vector<Chunk> chunks_;
  std::byte* newest_ = nullptr;  // the last chunk, unless it is on disk, and its first row
  int64_t newestFirst_ = 0;
  size_t numSpilled_ = 0;             // the first chunks
  std::atomic<int64_t> numRows_ = 0;  // with those that are not published yet
  uint64_t idHash_ = 0;
  ContentPrint contents_;

  mutable std::mutex arrivalMutex_;
  mutable std::condition_variable arrival_;
  Arrived arrived_;
  // Whoever waits for more is not woken; a step may take the rows of a thousand batches.
  static constexpr int64_t kNoneAwaited = std::numeric_limits<int64_t>::max();
  mutable int64_t fewestAwaited_ = kNoneAwaited;
};

// A row wherever it is: in its chunk, or in an image of the chunk that somebody read from disk. Borrows both.
class StoredRow {
 public:
  StoredRow(const RowStore& store, const RowStore::Chunk& chunk, const std::byte* bytes, int64_t index)
      : store_(store), chunk_(chunk), bytes_(bytes), index_(static_cast<size_t>(index)) {}

  uint64_t rowId() const {
    return chunk_.hasIds ? *reinterpret_cast<const uint64_t*>(place(store_.rowId_)) : chunk_.firstId + index_;
  }
  float weight() const { return *reinterpret_cast<const float*>(place(store_.weight_)); }
  const std::byte* features(size_t input) const { return place(store_.features_[input]); }
  int32_t label(size_t target) const { return *reinterpret_cast<const int32_t*>(place(store_.targets_[target])); }
  const float* values(size_t target) const { return reinterpret_cast<const float*>(place(store_.targets_[target])); }

 private:
  const std::byte* place(const RowStore::Column& column) const {
    return bytes_ + column.offset + index_ * column.stride;
  }

  const RowStore& store_;
  const RowStore::Chunk& chunk_;
  const std::byte* bytes_;
  size_t index_;
};

}  // namespace bloomery::data
