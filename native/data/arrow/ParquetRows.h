// The rows of local Parquet files, one batch after the other, as C structs of the Arrow C interface: what ArrowIngest
// takes, so that a file's rows become those that Spark would have sent. Owns the structs that nobody has taken over. No
// Arrow type appears in this header; one thread uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bloomery::data {

struct ParquetSource {
  std::string path;  // a file, or a folder whose files *.parquet, at any depth, are taken in the order of their paths
  bool forValidation = false;
};

// The files of one path; those, and folders, whose names begin with '.' or '_' are skipped. UserError when there are
// none.
std::vector<std::string> parquetFiles(const std::string& path);

class ParquetRows {
 public:
  // Looks into every file. Columns that are not named are never read. Folders such as "day=12" are columns as well.
  // indicator: when not empty, every batch has one more column of this name, which says whether its source is for
  // validation. UserError when a file cannot be read, a column is unknown or differs from that of the first file.
  ParquetRows(const std::vector<ParquetSource>& sources, const std::vector<std::string>& columns,
              std::string indicator = {});
  ~ParquetRows();

  int64_t numRows(bool forValidation) const;
  size_t numFiles() const;

  // Address of a C ArrowSchema that tells of all batches.
  void* schema();
  // Address of a C ArrowArray with the next rows, nullptr behind the last. Valid till the next call.
  void* next();
  // Of the batch that `next` gave: which file, counted over all sources, its first row in there and its number of rows.
  int partition() const;
  int64_t firstRow() const;
  int64_t batchRows() const;
  const std::string& file() const;  // the first one before the first batch

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::data
