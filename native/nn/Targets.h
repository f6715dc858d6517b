// What the rows of a batch should give at one output: class indices or values. Borrowed from whoever assembled the
// batch.
#pragma once

#include <cstdint>

namespace bloomery::nn {

// Exactly one of the two is there.
struct Targets {
  const int32_t* classes = nullptr;  // [numRows]: the one element of the output that should be 1, the others 0
  const float* values = nullptr;     // [numRows, output]
};

}  // namespace bloomery::nn
