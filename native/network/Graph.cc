#include "network/Graph.h"

#include <algorithm>
#include <limits>

#include "base/Error.h"

namespace bloomery::network {

namespace {

constexpr int64_t kMaxBatchValues = std::numeric_limits<int32_t>::max();

}  // namespace

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

std::vector<size_t> Graph::measuredNodes() const {
  std::vector<size_t> indices;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    auto* normalization = std::get_if<Normalization>(&nodes_[i].layer);
    if (normalization != nullptr && normalization->measuresRows()) indices.push_back(i);
  }
  return indices;
}

void Graph::checkBatchSize(int64_t batchSize) const {
  for (const Node& node : nodes_) {
    if (batchSize <= kMaxBatchValues / node.output.numElements()) continue;
    throw ResourceError(message("Layer '", node.name, "' (", node.kind,
                                ") gives too many values: ", node.output.toString(), " for a batch of ", batchSize,
                                ", at most ", kMaxBatchValues, " in all, lower the batch size"));
  }
}

int64_t Graph::largestBatchSize() const {
  int64_t largest = kMaxBatchValues;
  for (const Node& node : nodes_) largest = std::min(largest, kMaxBatchValues / node.output.numElements());
  return largest;
}

int64_t Graph::flopsPerSample() const {
  int64_t sum = 0;
  for (const Node& node : nodes_) sum += flopsOf(node.layer, node.input, node.output);
  return sum;
}

}  // namespace bloomery::network
