// Turns rows of a RowStore into a Batch: gathers, converts to float, scales. Which rows make a step is somebody else's
// choice: StepRows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/Batch.h"
#include "data/Order.h"
#include "data/RowStore.h"

namespace bloomery::data {

// Gives the rows of one step after another; called on the prefetch thread.
class StepRows {
 public:
  virtual ~StepRows() = default;
  // Writes at most rows.size() row positions of the next step and returns how many; 0 at the end of the epoch.
  virtual size_t next(std::span<int64_t> rows) = 0;
};

// Walks an Order in steps of `batchSize`; the last step may be shorter.
class OrderedRows : public StepRows {
 public:
  OrderedRows(Order order, int64_t batchSize);
  size_t next(std::span<int64_t> rows) override;

 private:
  Order order_;
  int64_t batchSize_;
  int64_t position_ = 0;
};

// Explicit row positions per step, for tests and tools.
class ExplicitRows : public StepRows {
 public:
  explicit ExplicitRows(std::vector<std::vector<int64_t>> steps);
  size_t next(std::span<int64_t> rows) override;

 private:
  std::vector<std::vector<int64_t>> steps_;
  size_t step_ = 0;
};

class Batcher {
 public:
  Batcher(const RowStore& rows, double scale);
  void assemble(std::span<const int64_t> rows, Batch& batch) const;

 private:
  const RowStore& rows_;
  float scale_;
};

}  // namespace bloomery::data
