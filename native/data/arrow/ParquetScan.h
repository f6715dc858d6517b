// Chosen row groups of Parquet files as batches of one schema, decoded ahead of need by threads of the scan's own and
// handed out in the order in which the files were added: what comes does not depend on timing. One thread uses a scan;
// its threads only read from the sources. No Arrow type appears in this header.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/ByteSource.h"

namespace bloomery::data {

class ParquetScan {
 public:
  // Addresses of C ArrowSchemas, consumed here: the columns that are read from files, and those that have one value
  // for each file, no arrays, which come behind the others in every batch; nullptr when there are none of these. Texts
  // that the schema shows as a dictionary's come so, as they lie in the files. readBytes: what each thread holds of the
  // row group that it reads, as it lies in its file; the rows that are decoded and wait are a few batches.
  ParquetScan(void* fileColumns, void* constantColumns, int numThreads, int64_t readBytes);
  // Cancels the sources, then stops and joins the threads.
  ~ParquetScan();
  ParquetScan(const ParquetScan&) = delete;
  ParquetScan& operator=(const ParquetScan&) = delete;

  // One more file, `index` in the row ids of its rows. constants: address of a C ArrowArray of one row with the file's
  // constant columns, consumed here; nullptr when there are none.
  void add(std::shared_ptr<ByteSource> source, int index, const std::vector<int>& rowGroups, void* constants);
  // Further row groups of the file that was added last.
  void addMore(const std::vector<int>& rowGroups);
  void finish();  // nothing more is added

  // Address of a C ArrowArray with the next rows, valid till the next call; nullptr when none came in this time or when
  // the scan has ended. Throws, in its place in the order, what went wrong with a file: UserError when it is not a
  // readable Parquet file or its columns are not those of the schema, or what its source threw.
  void* next(std::chrono::milliseconds wait);
  bool ended() const;
  bool isEmpty() const;  // of what was added, all was handed out
  // Of the batch that `next` gave last, or of the file that it failed on.
  int file() const;
  const std::string& fileName() const;
  int64_t firstRow() const;
  int64_t numRows() const;
  // Files that nothing more is read from, of those added, in their order. The last one is among them once nothing more
  // is added.
  int64_t numFilesDone() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::data
