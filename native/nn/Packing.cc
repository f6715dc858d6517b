#include "nn/Packing.h"

#include <algorithm>

namespace bloomery::nn {

Packing::Packing(int64_t batch, int64_t steps, int64_t granule)
    : batch_(batch),
      steps_(steps),
      granule_(granule),
      order_(static_cast<size_t>(batch)),
      length_(static_cast<size_t>(batch)),
      active_(static_cast<size_t>(steps) + 1),
      offset_(static_cast<size_t>(steps) + 1),
      position_(static_cast<size_t>(batch * steps)),
      count_(static_cast<size_t>(steps) + 2) {}

void Packing::build(const float* indices, int64_t numRows, bool backwards) {
  std::fill(count_.begin(), count_.end(), 0);
  longest_ = 0;
  for (int64_t row = 0; row < batch_; ++row) {
    int64_t length = 0;
    for (int64_t i = 0; row < numRows && i < steps_; ++i) {
      int64_t at = backwards ? steps_ - 1 - i : i;
      if (indices != nullptr && indices[row * steps_ + at] == 0.0f) continue;
      position_[static_cast<size_t>(row * steps_ + length++)] = i;
    }
    length_[static_cast<size_t>(row)] = length;
    longest_ = std::max(longest_, length);
    ++count_[static_cast<size_t>(length)];
  }
  // Counting sort, longest first, and with it how many rows are at least so long.
  int64_t place = 0;
  for (int64_t length = steps_; length >= 0; --length) {
    int64_t first = place;
    place += count_[static_cast<size_t>(length)];
    count_[static_cast<size_t>(length)] = first;
    if (length > 0) active_[static_cast<size_t>(length) - 1] = place;
  }
  for (int64_t row = 0; row < batch_; ++row) {
    int64_t& next = count_[static_cast<size_t>(length_[static_cast<size_t>(row)])];
    order_[static_cast<size_t>(next++)] = row;
  }
  offset_[0] = 0;
  for (int64_t step = 0; step < longest_; ++step) {
    offset_[static_cast<size_t>(step) + 1] = offset(step) + padded(step);
  }
}

}  // namespace bloomery::nn
