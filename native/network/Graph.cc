#include "network/Graph.h"

#include <algorithm>

namespace bloomery::network {

int64_t Graph::indexLimit(size_t input) const {
  int64_t limit = 0;
  for (const Node& node : nodes_) {
    auto* embedding = std::get_if<Embedding>(&node.layer);
    if (embedding == nullptr || node.inputs[0] != inputs_[input]) continue;
    limit = limit == 0 ? embedding->inputDim : std::min(limit, embedding->inputDim);
  }
  return limit;
}

bool Graph::synchronizesStatistics() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    auto* normalization = std::get_if<BatchNormalization>(&node.layer);
    return normalization != nullptr && normalization->synchronized && node.trainable;
  });
}

int64_t Graph::flopsPerSample() const {
  int64_t sum = 0;
  for (const Node& node : nodes_) sum += flopsOf(node.layer, node.input, node.output);
  return sum;
}

}  // namespace bloomery::network
