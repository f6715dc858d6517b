// One Parquet file, opened: its columns, and its rows as Arrow record batches of the wanted columns only. Everything
// that is wrong with the file is a UserError that names it. Reads on the calling thread and holds no more than a batch
// and the column chunks it comes from.
#pragma once

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bloomery::data {

class ParquetFile {
 public:
  // A file of this machine.
  static ParquetFile open(const std::string& path);
  // Any source of bytes; `name` is how messages speak of it.
  ParquetFile(std::string name, std::shared_ptr<arrow::io::RandomAccessFile> source);

  const std::string& name() const { return name_; }
  int64_t numRows() const { return numRows_; }
  // The wanted columns, in the order they are named; ML vectors are arrays of floats here.
  std::vector<std::shared_ptr<arrow::Field>> fields(const std::vector<std::string>& columns) const;

  // The next rows, nullptr behind the last; columns as `fields` of the columns given to `start`, which comes first.
  void start(const std::vector<std::string>& columns);
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  template <typename Read>
  auto guarded(Read read) const -> decltype(read().ValueUnsafe());
  std::vector<int> leavesOf(const std::vector<std::string>& columns) const;
  int64_t rowsOfBatch(const std::vector<int>& leaves) const;

  std::string name_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t numRows_ = 0;
  std::vector<std::string> columns_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // borrows the reader
};

}  // namespace bloomery::data
