// Rows of Spark's images: structs with height, width, nChannels and data, raw bytes row by row, as its image source
// reads files (channels in the order blue, green, red). They are not resized: each must have the Input's shape.
#pragma once

#include <arrow/api.h>

#include "data/arrow/ColumnPart.h"
#include "data/arrow/ValueConvert.h"

namespace bloomery::data {

bool isImage(const arrow::DataType& type);

class ImageRows final : public ColumnRows {
 public:
  ImageRows(const arrow::Array& array, const ColumnPart& part);
  void copy(int64_t row, std::byte* to, const RowPlace& place) const override;

 private:
  const ColumnPart& part_;
  std::shared_ptr<arrow::Array> height_, width_, channels_, data_;
  ConvertValues convert_;
};

}  // namespace bloomery::data
