// The rows of one worker, column by column, each in its own type: a uint8 image stays one byte a pixel. Filled by the
// ingesting thread, then read by the prefetch thread. Rows lie in fixed chunks of about 1 MiB, which are also the
// blocks of an Order, and never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/DType.h"
#include "tensor/Shape.h"

namespace bloomery::data {

struct RowFormat {
  DType featureType = DType::kFloat32;
  int64_t featuresPerRow = 0;
  Shape shape = {};  // of one row's features, for messages; (featuresPerRow,) when left empty
  size_t rowBytes() const { return static_cast<size_t>(featuresPerRow) * sizeOf(featureType); }
};

class RowStore {
 public:
  explicit RowStore(RowFormat format);

  // The place for the new row's features, to be filled by the caller at once. ResourceError when memory is out.
  std::byte* append(uint64_t rowId, int32_t label, float weight);
  // Forgets the rows and keeps the memory for the next ones.
  void clear() { numRows_ = 0; }

  const RowFormat& format() const { return format_; }
  int64_t numRows() const { return numRows_; }
  int64_t rowsPerBlock() const { return rowsPerBlock_; }  // rows in one chunk of 1 MiB; a pure function of the format
  size_t memoryBytes() const { return chunks_.size() * chunkBytes_; }

  const std::byte* features(int64_t row) const {
    return chunkOf(row) + static_cast<size_t>(row % rowsPerBlock_) * format_.rowBytes();
  }
  uint64_t rowId(int64_t row) const { return column<uint64_t>(row, rowIdOffset_); }
  int32_t label(int64_t row) const { return column<int32_t>(row, labelOffset_); }
  float weight(int64_t row) const { return column<float>(row, weightOffset_); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Chunk = std::unique_ptr<std::byte[], Free>;

  std::byte* chunkOf(int64_t row) const { return chunks_[static_cast<size_t>(row / rowsPerBlock_)].get(); }
  template <typename T>
  T& column(int64_t row, size_t offset) const {
    return reinterpret_cast<T*>(chunkOf(row) + offset)[row % rowsPerBlock_];
  }
  void addChunk();

  RowFormat format_;
  int64_t rowsPerBlock_;
  // Where the columns begin in every chunk; the features come first.
  size_t rowIdOffset_;
  size_t labelOffset_;
  size_t weightOffset_;
  size_t chunkBytes_;
  std::vector<Chunk> chunks_;
  int64_t numRows_ = 0;
};

}  // namespace bloomery::data
