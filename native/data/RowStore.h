// The rows of one worker, column by column, each in its own type: a uint8 image stays one byte a pixel. Filled by the
// ingesting thread, then read by the prefetch thread. Rows lie in fixed chunks of about 1 MiB, which are also the
// blocks of an Order, and never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/RowFormat.h"

namespace bloomery::data {

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

  const RowFormat& format() const { return format_; }
  int64_t numRows() const { return numRows_; }
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

  RowFormat format_;
  int64_t rowsPerBlock_ = 1;
  std::vector<Column> features_, targets_;  // by input and by output
  Column rowId_, weight_;
  size_t chunkBytes_ = 0;
  std::vector<Chunk> chunks_;
  int64_t numRows_ = 0;
};

}  // namespace bloomery::data
