// One Parquet file, opened: its columns, and its rows as Arrow record batches of the wanted columns only. Everything
// that is wrong with the file is a UserError that names it. Reads on the calling thread and holds no more than a batch
// and the column chunks of the row group it comes from, or pieces of them.
#pragma once

#include <arrow/api.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/arrow/SourceFile.h"

namespace bloomery::data {

// How column chunks are read: neighbouring ones at once, since a read may go to another machine; or each piece by
// piece, so that memory stays small however large the row groups are.
enum class ReadSize { kChunks, kPieces };

class ParquetFile {
 public:
  // A file of this machine.
  static ParquetFile open(const std::string& path);
  // What the source throws comes out as it is. encodedTexts: columns whose texts, in arrays or not, come as they lie in
  // the file: as places in a dictionary.
  ParquetFile(std::shared_ptr<ByteSource> source, ReadSize size, const std::vector<std::string>& encodedTexts = {});

  const std::string& name() const { return name_; }
  int64_t numRows() const { return numRows_; }
  int numRowGroups() const { return reader_->num_row_groups(); }
  int64_t firstRowOf(int rowGroup) const;  // in the file
  // The wanted columns, in the order they are named.
  std::vector<std::shared_ptr<arrow::Field>> fields(const std::vector<std::string>& columns) const;

  // The next rows, nullptr behind the last; columns as `fields` of the columns given to `start`, which comes first.
  void start(const std::vector<std::string>& columns);                // all rows
  void start(const std::vector<std::string>& columns, int rowGroup);  // UserError when there is no such group
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  template <typename Read>
  auto guarded(Read read) const -> decltype(read().ValueUnsafe());
  std::vector<int> leavesOf(const std::vector<std::string>& columns) const;
  int64_t rowsOfBatch(const std::vector<int>& leaves, int rowGroup) const;
  void open(int rowGroup);

  std::string name_;
  std::shared_ptr<SourceFile> source_;  // shared with the reader
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t numRows_ = 0;
  std::vector<std::string> columns_;
  int nextGroup_ = 0, endGroup_ = 0;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // of the group before the next one; borrows the reader
};

}  // namespace bloomery::data
