// The rows of one worker, column by column, each in its own type: a uint8 image stays one byte a pixel. Filled by the
// ingesting thread, read by the prefetch thread after `seal`. Rows lie in fixed chunks of about 1 MiB and never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/DType.h"

namespace bloomery::data {

struct RowFormat {
  DType featureType = DType::kFloat32;
  int64_t featuresPerRow = 0;
  size_t rowBytes() const { return static_cast<size_t>(featuresPerRow) * sizeOf(featureType); }
};

class RowStore {
 public:
  explicit RowStore(RowFormat format);
  ~RowStore();

  // The place for the new row's features, to be filled by the caller at once.
  std::byte* append(uint64_t rowId, int32_t label, float weight);

  const RowFormat& format() const { return format_; }
  int64_t numRows() const;
  int64_t rowsPerBlock() const;  // rows in one chunk of 1 MiB; a pure function of the format
  const std::byte* features(int64_t row) const;
  int32_t label(int64_t row) const;
  float weight(int64_t row) const;
  uint64_t rowId(int64_t row) const;
  size_t memoryBytes() const;

 private:
  RowFormat format_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::data
