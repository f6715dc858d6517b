// Rows of bytes: values of the part's own type, little-endian, one after the other.
#pragma once

#include <arrow/api.h>

#include "data/arrow/ColumnPart.h"

namespace bloomery::data {

bool isBinary(const arrow::DataType& type);

class BinaryRows final : public ColumnRows {
 public:
  BinaryRows(const arrow::Array& array, const ColumnPart& part);
  void copy(int64_t row, std::byte* to, const RowPlace& place) const override;
  bool areWhole(int64_t row, int64_t count) const override;
  bool copyWhole(int64_t row, int64_t count, std::byte* to) const override;

 private:
  int64_t beginOf(int64_t row) const;

  const ColumnPart& part_;
  // Where a row begins: at one of these offsets, or at a multiple of the fixed length.
  const int32_t* offsets_ = nullptr;
  const int64_t* largeOffsets_ = nullptr;
  int64_t fixedLength_ = 0;
  const uint8_t* bytes_;
};

}  // namespace bloomery::data
