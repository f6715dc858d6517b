// One batch, assembled: the features of every input as float in the plan's layout, the targets and weights of every
// output, and row ids. Its buffers are made once and reused; the prefetcher owns it and lends it to the compute thread.
#pragma once

#include <cstdint>
#include <vector>

#include "data/RowFormat.h"
#include "tensor/Arena.h"

namespace bloomery::data {

struct Batch {
  Batch(int64_t maxRows, const RowFormat& format);

  // What one output should give. Either `classes` or `values` is filled, as the rows have it.
  struct Target {
    bool isClass = true;
    std::vector<int32_t> classes;  // [capacity]
    std::vector<float> values;     // [capacity, width], made when the first values come
    std::vector<float> weights;    // [capacity]: of the row, times that of its class
    double weightSum = 0;          // of the valid rows
  };

  int64_t capacity;
  int64_t numRows = 0;
  std::vector<Arena> features;       // by input: [capacity, features per row]
  std::vector<const float*> inputs;  // where each of them begins
  std::vector<uint64_t> rowIds;      // [capacity]
  std::vector<Target> targets;       // by output
};

}  // namespace bloomery::data
