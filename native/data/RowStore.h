// The rows of one worker, column by column, each in its own type: a uint8 image stays one byte a pixel. One thread, the
// ingesting one, appends; meanwhile the prefetch thread may read, under `readLock`, rows that were published. Rows lie
// in fixed chunks of about 1 MiB, which are also the blocks of an Order, and never move.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "data/RowFormat.h"

namespace bloomery::data {

// What readers may count on while rows still come.
struct Arrived {
  int64_t rows = 0;
  bool all = false;  // no more will come
};

class RowStore {
 public:
  explicit RowStore(RowFormat format);

  // Whether a target is kept as class or as values is known once its column is seen: call before the first row. Changes
  // nothing that a Batch or a Batcher looks at when it is made, which another thread may do meanwhile.
  void settleTarget(size_t target, bool isClass);

  // Adds a row, whose features and targets are to be filled by the caller at once. ResourceError when memory is out.
  void append(uint64_t rowId, float weight);
  // For rows of one input and one class: adds a row and returns the place of its features.
  std::byte* append(uint64_t rowId, int32_t label, float weight);
  // Forgets the rows and keeps the memory for the next ones.
  void clear() { numRows_ = 0; }

  // The ingesting thread says that all rows appended so far are filled, and that no more will come.
  void publish() { publish(false); }
  void finish() { publish(true); }
  // Any thread: waits till so many rows are published or all have come, at most as long as it has patience.
  Arrived awaitRows(int64_t count, std::chrono::milliseconds patience) const;
  bool awaitAll(std::chrono::milliseconds patience) const;
  // To be held while rows are read on another thread than the ingesting one.
  std::unique_lock<std::mutex> readLock() const { return std::unique_lock(chunksMutex_); }

  const RowFormat& format() const { return format_; }
  int64_t numRows() const { return numRows_.load(std::memory_order_relaxed); }
  int64_t rowsPerBlock() const { return rowsPerBlock_; }  // rows in one chunk of 1 MiB; a pure function of the format
  size_t memoryBytes() const { return chunks_.size() * chunkBytes_; }

  uint64_t rowId(int64_t row) const { return *reinterpret_cast<uint64_t*>(place(row, rowId_)); }
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
  void setLabel(int64_t row, size_t target, int32_t label) {
    *reinterpret_cast<int32_t*>(place(row, targets_[target])) = label;
  }
  float* values(int64_t row, size_t target = 0) { return reinterpret_cast<float*>(place(row, targets_[target])); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Chunk = std::unique_ptr<std::byte[], Free>;

  // Where a column begins in every chunk, and how far apart its rows are.
  struct Column {
    size_t offset = 0;
    size_t bytes = 0;
  };

  std::byte* place(int64_t row, const Column& column) const {
    return chunks_[static_cast<size_t>(row / rowsPerBlock_)].get() + column.offset +
           static_cast<size_t>(row % rowsPerBlock_) * column.bytes;
  }
  void layOut();
  void addChunk();
  void publish(bool all);

  RowFormat format_;
  int64_t rowsPerBlock_ = 1;
  std::vector<Column> features_, targets_;  // by input and by output
  Column rowId_, weight_;
  size_t chunkBytes_ = 0;
  mutable std::mutex chunksMutex_;  // the ingesting thread, which alone changes the chunks, reads them without it
  std::vector<Chunk> chunks_;
  std::atomic<int64_t> numRows_ = 0;  // with those that are not published yet

  mutable std::mutex arrivalMutex_;
  mutable std::condition_variable arrival_;
  Arrived arrived_;
};

}  // namespace bloomery::data
