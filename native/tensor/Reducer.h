// Adds up a few numbers over all workers in the middle of a pass, for layers whose statistics span them. Every worker
// calls it the same number of times in the same order. Called on the compute thread.
#pragma once

#include <span>

namespace bloomery {

class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual void add(std::span<double> values) = 0;
};

}  // namespace bloomery
