// Rows of an Arrow array that are wanted, as runs of rows that follow each other, and the array of these alone: each
// run is copied in one piece, however deep lists and structs are nested.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bloomery::data {

struct RowRun {
  int64_t first, count;
};

// Of the row numbers, which ascend, counted from `first` on.
std::vector<RowRun> runsOf(std::span<const int64_t> numbers, int64_t first);

// The rows of the runs, in memory of the pool. Types are those that PlainLayout gives: one layout for each kind.
arrow::Result<std::shared_ptr<arrow::Array>> rowsIn(const arrow::Array& array, const std::vector<RowRun>& runs,
                                                    arrow::MemoryPool* pool);

}  // namespace bloomery::data
