// Which rows make which step of an epoch. Called on the prefetch thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/Order.h"

namespace bloomery::data {

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

// Explicit row positions per step, for tests and tools. An empty step would end the epoch, so there must be none.
class ExplicitRows : public StepRows {
 public:
  explicit ExplicitRows(std::vector<std::vector<int64_t>> steps);
  size_t next(std::span<int64_t> rows) override;

 private:
  std::vector<std::vector<int64_t>> steps_;
  size_t step_ = 0;
};

}  // namespace bloomery::data
