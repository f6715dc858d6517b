// One batch, assembled: features as float in the plan's input layout, labels, weights and row ids. Its buffers are
// made once and reused; the prefetcher owns it and lends it to the compute thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/Arena.h"

namespace bloomery::data {

struct Batch {
  Batch(int64_t maxRows, int64_t featuresPerRow);

  int64_t capacity;
  int64_t numRows = 0;
  double weightSum = 0;          // of the valid rows
  Arena features;                // [capacity, features per row]
  std::vector<uint64_t> rowIds;  // [capacity]
  std::vector<int32_t> labels;   // [capacity]
  std::vector<float> weights;    // [capacity]
};

}  // namespace bloomery::data
