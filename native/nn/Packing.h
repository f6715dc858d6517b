// The steps of a batch of sequences that are not skipped, side by side for matrix products: rows are ordered by length,
// the longest first, so that those still running at a step are the first ones. Each step's block of rows is filled up
// to a multiple of `granule`. Rebuilt for every batch without allocating.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloomery::nn {

class Packing {
 public:
  Packing(int64_t batch, int64_t steps, int64_t granule);

  // indices: [batch, steps], 0 where a step is skipped, or null: none is. Rows beyond numRows have no steps.
  void build(const float* indices, int64_t numRows, bool backwards);

  int64_t capacity() const { return steps_ * roundedUp(batch_); }
  int64_t longest() const { return longest_; }                                       // steps of the longest row
  int64_t active(int64_t step) const { return active_[static_cast<size_t>(step)]; }  // rows still running
  int64_t padded(int64_t step) const { return roundedUp(active(step)); }
  int64_t offset(int64_t step) const { return offset_[static_cast<size_t>(step)]; }  // first row of the step's block
  int64_t numRows() const { return offset(longest_); }                               // of all blocks
  int64_t row(int64_t place) const { return order_[static_cast<size_t>(place)]; }    // in the batch
  int64_t length(int64_t place) const { return length_[static_cast<size_t>(row(place))]; }
  // The position in the sequence, counted as it runs, of a row's step.
  int64_t position(int64_t place, int64_t step) const {
    return position_[static_cast<size_t>(row(place) * steps_ + step)];
  }
  int64_t steps() const { return steps_; }
  int64_t batch() const { return batch_; }

 private:
  int64_t roundedUp(int64_t rows) const { return (rows + granule_ - 1) / granule_ * granule_; }

  int64_t batch_, steps_, granule_;
  int64_t longest_ = 0;
  std::vector<int64_t> order_, length_, active_, offset_, position_, count_;
};

}  // namespace bloomery::nn
