// Spark's ML vectors, which are structs: {type, size, indices, values}, sparse or dense.
#pragma once

#include <arrow/api.h>

#include <memory>

#include "data/arrow/ColumnPart.h"
#include "data/arrow/ValueConvert.h"

namespace bloomery::data {

bool isVector(const arrow::DataType& type);

class VectorRows final : public ColumnRows {
 public:
  VectorRows(const arrow::Array& array, const ColumnPart& part);
  void copy(int64_t row, std::byte* to, const RowPlace& place) const override;

 private:
  void copySparse(int64_t row, std::byte* to, const RowPlace& place) const;
  void checkSize(int64_t size, const RowPlace& place) const;

  const ColumnPart& part_;
  std::shared_ptr<arrow::Array> types_, sizes_, indexLists_, valueLists_;
  const double* values_;
  const int32_t* indices_;
  ConvertValues convert_;
};

}  // namespace bloomery::data
