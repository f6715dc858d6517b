// What one row of training data holds: features for every input of the network, and a target for every output. The
// layout of a RowStore, and so the order in which rows are visited, is a pure function of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/DType.h"
#include "tensor/Shape.h"

namespace bloomery::data {

class LateValues;

struct FeatureFormat {
  DType type = DType::kFloat32;
  int64_t count = 0;                                         // values of one row
  Shape shape = {};                                          // of these values, for messages; (count,) when left empty
  double scale = 1;                                          // applied when a batch is assembled
  int64_t indexLimit = 0;                                    // above 0: values are whole numbers in [0, indexLimit)
  std::vector<std::shared_ptr<const LateValues>> late = {};  // settled once all rows are there
  size_t bytes() const { return static_cast<size_t>(count) * sizeOf(type); }
};

struct TargetFormat {
  int64_t width = 1;    // elements of the output
  bool isClass = true;  // one class index in [0, width) as int32; else `width` floats
  size_t bytes() const { return isClass ? sizeof(int32_t) : static_cast<size_t>(width) * sizeof(float); }
};

struct RowFormat {
  std::vector<FeatureFormat> features;
  std::vector<TargetFormat> targets;
  bool hasWeights = true;  // else every row weighs 1
};

}  // namespace bloomery::data
