// Which rows make which step of an epoch. Called on the prefetch thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/Order.h"
#include "data/RowStore.h"

namespace bloomery::data {

class StepRows {
 public:
  virtual ~StepRows() = default;
  // Whether `next` can be asked. Where rows are still to come it waits a moment for them first.
  virtual bool awaitNext() { return true; }
  // The order whose rows the steps take one after the other; nullptr: it is not known ahead.
  virtual const Order* order() const { return nullptr; }
  // Writes at most rows.size() row positions of the next step and returns how many; 0 at the end of the epoch.
  virtual size_t next(std::span<int64_t> rows) = 0;
};

// Walks an Order in steps of `batchSize`; the last step may be shorter.
class OrderedRows : public StepRows {
 public:
  OrderedRows(Order order, int64_t batchSize);
  const Order* order() const override { return &order_; }
  size_t next(std::span<int64_t> rows) override;

 private:
  Order order_;
  int64_t batchSize_;
  int64_t position_ = 0;
};

// The rows of a store in the order in which they come, while they still do: as they are, or shuffled through a buffer
// of so many rows. A step is told once every row it could take has come, so that which rows make a step never depends
// on when they came. The store is borrowed.
class StreamedRows : public StepRows {
 public:
  // shuffleBuffer: at least 1, which keeps the order.
  StreamedRows(const RowStore& rows, int64_t batchSize, int64_t shuffleBuffer, uint64_t seed);
  bool awaitNext() override;
  size_t next(std::span<int64_t> rows) override;

 private:
  int64_t draw();

  const RowStore& rows_;
  int64_t batchSize_;
  int64_t shuffleBuffer_;
  uint64_t key_;
  std::vector<int64_t> buffer_;
  Arrived arrived_;
  int64_t numTaken_ = 0;  // rows that went into the buffer
  int64_t numDrawn_ = 0;  // and out of it
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
