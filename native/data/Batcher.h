// Turns rows of a RowStore into a Batch: gathers, converts to float, scales, weighs. Which rows make a step is somebody
// else's choice: StepRows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/Batch.h"
#include "data/Convert.h"
#include "data/RowReader.h"

namespace bloomery::data {

// By output, by class: what a row's weight is multiplied by. Empty, as a whole or for an output: by 1. Where a target
// is a vector its class is that of the largest value, where it is one value its class is 1 above 1/2 and else 0.
using ClassWeights = std::vector<std::vector<float>>;

class Batcher {
 public:
  // The store is borrowed.
  explicit Batcher(const RowStore& rows, ClassWeights classWeights = {});
  // An epoch begins, whose rows are those of this order, one after the other (nullptr: in an order that is not known),
  // and ends.
  void beginEpoch(const Order* order) { reader_.begin(order); }
  void endEpoch() { reader_.end(); }
  // Fills `batch` with the rows at these positions, in this order; at most its capacity. Allocates nothing but, the
  // first time, room for targets that are values.
  void assemble(std::span<const int64_t> rows, Batch& batch);
  double takeReadSeconds() { return reader_.takeReadSeconds(); }  // from disk, since the last call

 private:
  void assembleFeatures(const StoredRow& row, size_t place, Batch& batch) const;
  void assembleTarget(const StoredRow& row, size_t place, size_t output, Batch::Target& target) const;

  const RowFormat& format_;
  RowReader reader_;
  ClassWeights classWeights_;
  std::vector<ToFloat> toFloat_;  // by input
};

}  // namespace bloomery::data
