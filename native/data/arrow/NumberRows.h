// Rows of numbers: one a row, or arrays of them, also inside each other.
#pragma once

#include "data/arrow/ColumnPart.h"
#include "data/arrow/ListLevels.h"
#include "data/arrow/NumberColumn.h"
#include "data/arrow/ValueConvert.h"

namespace bloomery::data {

class NumberRows final : public ColumnRows {
 public:
  NumberRows(const arrow::Array& array, const ColumnPart& part);
  void copy(int64_t row, std::byte* to, const RowPlace& place) const override;
  bool areWhole(int64_t row, int64_t count) const override;
  bool copyWhole(int64_t row, int64_t count, std::byte* to) const override;

 private:
  const std::byte* at(int64_t value) const;

  const ColumnPart& part_;
  ListLevels lists_;
  NumberColumn numbers_;
  size_t numberBytes_;
  ConvertValues convert_;
};

}  // namespace bloomery::data
