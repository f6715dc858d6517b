// A column of one row group, decoded straight from its pages into Arrow arrays: numbers, binaries, and lists of
// numbers. Arrow's own reader takes columns of every shape, but two to three times as long for these, which most rows
// are made of. What is wrong with the file comes out as the Parquet library's exception. Used by the thread that reads.
#pragma once

#include <arrow/api.h>
#include <parquet/column_reader.h>

#include <cstdint>
#include <memory>

namespace bloomery::data {

class DirectColumn {
 public:
  // Whether a column of this field can be read so; `leaf` is its first.
  static bool canRead(const arrow::Field& field, const parquet::ColumnDescriptor& leaf);
  // The group's rows, and the levels that the leaf has for them: elements, and rows without any.
  static std::unique_ptr<DirectColumn> open(const arrow::Field& field, std::shared_ptr<parquet::ColumnReader> leaf,
                                            int64_t numRows, int64_t numLevels);

  virtual ~DirectColumn() = default;
  // The next rows: as many as wanted, or fewer, though at least one, where they are too large for one array. No more
  // may be wanted than the group has left.
  virtual arrow::Result<std::shared_ptr<arrow::Array>> next(int64_t rows) = 0;
};

}  // namespace bloomery::data
