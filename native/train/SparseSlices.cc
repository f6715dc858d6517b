#include "train/SparseSlices.h"

#include <algorithm>

namespace bloomery::train {

namespace {

// Of each row of a batch, by all layers that share the table.
int64_t numIndices(const network::Graph& graph, size_t slice) {
  int64_t count = 0;
  for (const network::Node& node : graph.nodes()) {
    if (node.numParameters > 0 && node.firstParameter == slice) count += node.input.numElements();
  }
  return count;
}

}  // namespace

std::vector<size_t> sparseSlices(const network::ParameterTable& parameters, int64_t fewestFloats) {
  std::vector<size_t> slices;
  for (size_t i = 0; i < parameters.parameters().size(); ++i) {
    const network::Parameter& parameter = parameters.parameters()[i];
    bool isPulled = parameter.regularizer.l1 != 0 || parameter.regularizer.l2 != 0;
    bool isSparse = parameter.gathered && parameter.trainable && !isPulled;
    if (isSparse && parameter.shape.numElements() >= fewestFloats) slices.push_back(i);
  }
  return slices;
}

std::vector<comm::SparseTable> sparseTables(const TaskSpec& task, const GradientRows& rows, int ranks) {
  std::vector<comm::SparseTable> tables;
  for (size_t slice : rows.slices()) {
    TouchedRows* touched = rows.find(slice);
    double indices =
        static_cast<double>(numIndices(task.graph, slice)) * static_cast<double>(task.training.backwardPassesPerStep);
    double most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      double ofRank = indices * static_cast<double>(task.training.batchSizeOf(rank, ranks));
      most += std::min(ofRank, static_cast<double>(touched->numRows()));
    }
    tables.push_back({slice, touched, static_cast<int64_t>(most)});
  }
  return tables;
}

}  // namespace bloomery::train
