// Where the time of a plan goes, layer by layer: filled by a plan that is given one, read by whoever prints it. Costs
// two looks at the clock a step. Passes of a training plan in inference mode, as validation runs them, do not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/Trace.h"
#include "network/Graph.h"

namespace bloomery::nn {

// What one pass over a batch asks of a layer: operations, and the bytes that it must read and write at least, each
// value, parameter and gradient once. A kernel may move more.
struct PassWork {
  double operations = 0;
  double bytes = 0;
};

struct LayerTimes {
  std::string name;
  std::string kind;
  PassWork forward = {};
  PassWork backward = {};
  std::string forwardSpan = {};  // names of its spans in a trace
  std::string backwardSpan = {};
  double forwardSeconds = 0;
  double backwardSeconds = 0;
};

struct Profile {
  // The layers of a plan for this graph, none of which has run; does nothing when it has them.
  void open(const network::Graph& graph, int64_t batchSize, bool training);

  std::vector<LayerTimes> layers;  // by node of the graph
  int64_t forwardPasses = 0;
  int64_t backwardPasses = 0;
  // When set, spans of the layers go there, too; it points into `layers`, so the profile must outlive its reading.
  Trace* trace = nullptr;
};

}  // namespace bloomery::nn
