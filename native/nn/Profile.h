// Where the time of a plan goes, layer by layer: filled by a plan that is given one, read by whoever prints it. Costs
// two looks at the clock a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bloomery::nn {

struct LayerTimes {
  std::string name;
  std::string kind;
  int64_t flops = 0;  // of one sample's forward pass
  double forwardSeconds = 0;
  double backwardSeconds = 0;
};

struct Profile {
  std::vector<LayerTimes> layers;  // by node of the graph
  int64_t forwardPasses = 0;
  int64_t backwardPasses = 0;
};

}  // namespace bloomery::nn
