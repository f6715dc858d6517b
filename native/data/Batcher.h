// Turns rows of a RowStore into a Batch: gathers, converts to float, scales. Which rows make a step is somebody else's
// choice: StepRows.
#pragma once

#include <cstdint>
#include <span>

#include "data/Batch.h"
#include "data/Convert.h"
#include "data/RowStore.h"

namespace bloomery::data {

class Batcher {
 public:
  // The store is borrowed.
  Batcher(const RowStore& rows, double scale);
  // Fills `batch` with the rows at these positions, in this order; at most its capacity. Allocates nothing.
  void assemble(std::span<const int64_t> rows, Batch& batch) const;

 private:
  const RowStore& rows_;
  float scale_;
  ToFloat toFloat_;
};

}  // namespace bloomery::data
