// Adds up the gradient of a table of which every rank touched few rows, by moving those rows alone: first the ranks
// tell each other which, then the rows that any of them touched are reduced, packed. Every rank finds the same way from
// numbers that were reduced before. Runs on the comm thread; borrows the marks, the table, the counts and the wire.
#pragma once

#include <span>
#include <vector>

#include "comm/CommThread.h"
#include "comm/GradientWire.h"
#include "tensor/GradientRows.h"

namespace bloomery::comm {

class RowReduction final : public Reduction {
 public:
  // counts: of each rank, the rows it touched; reduced before this runs. mostRows: rows that all ranks together can
  // touch in a step, each counted for itself.
  RowReduction(TouchedRows& rows, std::span<const float> counts, int64_t mostRows, GradientWire& wire);

  // Marked afterwards: the rows that any rank touched.
  void run(Communicator& communicator, Timeout timeout) override;

 private:
  bool isWorthTelling() const;
  void tellRows(Communicator& communicator, Timeout timeout);

  TouchedRows& rows_;
  std::span<const float> counts_;
  GradientWire& wire_;         // for the rows; their numbers are exact
  std::vector<float> packed_;  // row numbers, then rows
};

}  // namespace bloomery::comm
