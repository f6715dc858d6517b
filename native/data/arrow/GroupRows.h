// The rows of one row group as record batches of the wanted columns: each by a DirectColumn where that can read it, the
// others together by Arrow's reader. Borrows that reader, which must be at no other row group meanwhile. Errors are
// Arrow's results and the Parquet library's exceptions, for whoever knows the file. Used by the thread that reads.
#pragma once

#include <arrow/api.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "data/arrow/DirectColumn.h"

namespace bloomery::data {

class GroupRows {
 public:
  // A column and the leaves of the file that it is made of.
  struct Column {
    std::shared_ptr<arrow::Field> field;
    std::vector<int> leaves;
  };
  static arrow::Result<GroupRows> open(parquet::arrow::FileReader& reader, int rowGroup, std::vector<Column> columns);

  // At most so many rows, nullptr behind the last.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next(int64_t rows);

 private:
  // A column's rows that were read and not handed out.
  struct Part {
    std::unique_ptr<DirectColumn> direct;  // nullptr: Arrow's reader reads it
    std::shared_ptr<arrow::Array> waiting;
  };
  arrow::Status fill(int64_t rows);

  parquet::arrow::FileReader* reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<Part> parts_;                            // by column
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // of the columns that are not direct; nullptr: there are none
  int64_t rowsLeft_ = 0;
};

}  // namespace bloomery::data
