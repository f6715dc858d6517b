// The heavy oneDNN primitives of a network, convolutions and matrix products, each timed alone: the yardstick that a
// plan is held against. Belongs to the benchmark tools, not to the engine.
#pragma once

#include <cstdint>
#include <memory>

#include "network/Graph.h"

namespace bloomery::nn {

class PrimitiveTimes {
 public:
  // training: with both backward primitives, but for the gradient of what the network is given. Sequences count as
  // filled to the half.
  PrimitiveTimes(const network::Graph& graph, int64_t batchSize, bool training);
  ~PrimitiveTimes();

  // Runs each primitive a few times, in the layout that oneDNN likes best and in the plain one.
  void measure();
  // Of all of them together, each by the median of all its runs in the faster layout.
  double seconds() const;

 private:
  struct Yard;
  std::unique_ptr<Yard> yard_;
};

}  // namespace bloomery::nn
