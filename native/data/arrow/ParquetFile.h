// One Parquet file, opened: its columns, and its rows as Arrow record batches of the wanted columns only. Everything
// that is wrong with the file is a UserError that names it. Reads on the calling thread and holds no more than a batch,
// a page of each column, and what it was allowed of the row group that it reads, however large that is.
#pragma once

#include <arrow/api.h>
#include <parquet/arrow/reader.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/arrow/GroupRows.h"
#include "data/arrow/SourceFile.h"

namespace bloomery::data {

// What the rows take, without dictionaries, which batches share.
int64_t bytesOf(const arrow::RecordBatch& batch);

class ParquetFile {
 public:
  // A file of this machine.
  static ParquetFile open(const std::string& path);
  // What the source throws comes out as it is. readBytes: so much of a row group is held as it lies in the file. Where
  // that is all of the wanted columns, neighbouring ones are read at once, since a read may go to another machine;
  // else, and where it does not, each comes piece by piece. encodedTexts: columns whose texts, in arrays or not, come
  // as they lie in the file: as places in a dictionary.
  ParquetFile(std::shared_ptr<ByteSource> source, int64_t readBytes, std::vector<std::string> encodedTexts = {});

  const std::string& name() const { return name_; }
  int64_t numRows() const { return numRows_; }
  int numRowGroups() const { return metadata_->num_row_groups(); }
  int64_t firstRowOf(int rowGroup) const { return firstRows_[static_cast<size_t>(rowGroup)]; }  // in the file
  // The wanted columns, in the order they are named.
  std::vector<std::shared_ptr<arrow::Field>> fields(const std::vector<std::string>& columns) const;

  // The next rows, nullptr behind the last; columns as `fields` of the columns given to `start`, which comes first.
  void start(const std::vector<std::string>& columns);                // all rows
  void start(const std::vector<std::string>& columns, int rowGroup);  // UserError when there is no such group
  // What was started comes in batches of few rows at first: whoever waits for the first rows has them early, and takes
  // in no more than that.
  void beginWithFewRows();
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  template <typename Read>
  auto guarded(Read read) const -> decltype(read().ValueUnsafe());
  std::vector<int> leavesOf(const std::string& column) const;
  int64_t pieceBytes(const std::vector<int>& leaves, int rowGroup) const;
  int64_t firstBatchRows(const std::vector<int>& leaves, int rowGroup) const;
  void makeReader(int64_t pieceBytes);
  void open(int rowGroup);
  void settleBatchRows(const arrow::RecordBatch& last);
  void setBatchRows(int64_t rows);

  std::shared_ptr<void> recycling_;
  std::string name_;
  std::shared_ptr<SourceFile> source_;  // shared with the reader
  int64_t readBytes_;
  std::vector<std::string> encodedTexts_;
  std::shared_ptr<parquet::FileMetaData> metadata_;  // shared with the reader
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  int64_t pieceBytes_ = 0;  // that the reader reads of a column chunk at once; 0: all of it
  std::shared_ptr<arrow::Schema> schema_;
  int64_t numRows_ = 0;
  std::vector<int64_t> firstRows_;  // by row group
  std::vector<std::string> columns_;
  int nextGroup_ = 0, endGroup_ = 0;
  int64_t batchRows_ = 0;
  int64_t rowsByFew_ = 0;          // still to come in batches of few rows
  std::optional<GroupRows> rows_;  // of the group before the next one; borrows the reader
};

}  // namespace bloomery::data
