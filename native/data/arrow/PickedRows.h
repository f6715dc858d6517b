// Rows of a ParquetScan that somebody else picks: he knows the number of each in its file and some columns of it, and
// gets these beside the columns that the scan reads. Row groups of which nothing is picked need not be added to the
// scan. One thread uses both; the scan is shared with whoever adds files to it. No Arrow type appears in this header.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "data/arrow/ParquetScan.h"

namespace bloomery::data {

class PickedRows {
 public:
  // Addresses of C ArrowSchemas, consumed here: the columns that the scan reads, and those that come with the picked
  // rows, of which the last is the row's number in its file, as int64.
  PickedRows(std::shared_ptr<ParquetScan> scan, void* fileColumns, void* ownColumns);
  ~PickedRows();
  PickedRows(const PickedRows&) = delete;
  PickedRows& operator=(const PickedRows&) = delete;

  // Address of a C ArrowArray, consumed here: rows of the file with this index, whose numbers ascend, and whose row
  // groups were added to the scan in the order in which rows are picked. Only when all before were handed out.
  void pick(void* ownColumns, int file);

  // Address of a C ArrowArray, valid till the next call: the next rows with the scan's columns and, behind them, their
  // own without the number; nullptr when none came in this time. Throws what the scan throws.
  void* next(std::chrono::milliseconds wait);
  int64_t numRows() const;  // of the batch that `next` gave last

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomery::data
