#include "train/InputStatistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/Error.h"
#include "data/Prefetcher.h"
#include "train/TrainingLoop.h"

namespace bloomery::train {

namespace {

constexpr int64_t kRowsAtOnce = 64;
constexpr int kAhead = 2;

size_t inputBefore(const network::Graph& graph, const network::Node& node) {
  const std::vector<size_t>& inputs = graph.inputs();
  return static_cast<size_t>(std::find(inputs.begin(), inputs.end(), node.inputs[0]) - inputs.begin());
}

}  // namespace

void Moments::merge(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  double total = count + other.count, distance = other.mean - mean;
  mean += distance * (other.count / total);
  squares += other.squares + distance * distance * count * (other.count / total);
  count = total;
}

InputStatistics::InputStatistics(const network::Graph& graph) : graph_(graph) {
  for (size_t index : graph.measuredNodes()) {
    const network::Node& node = graph.nodes()[index];
    size_t input = inputBefore(graph, node), width = static_cast<size_t>(node.input.numElements());
    bool known = std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& one) { return one.input == input; });
    if (known) continue;
    inputs_.push_back({input, std::vector<Moments>(width), std::vector<double>(width), std::vector<double>(width)});
  }
}

// Within a batch numbers are counted from those of its first row, so that neither a large mean nor the number of rows
// costs digits.
void InputStatistics::add(const data::Batch& batch) {
  if (batch.numRows == 0) return;
  double count = static_cast<double>(batch.numRows);
  for (InputMoments& one : inputs_) {
    size_t width = one.elements.size();
    const float* origin = batch.inputs[one.input];
    std::fill(one.sums.begin(), one.sums.end(), 0.0);
    std::fill(one.squares.begin(), one.squares.end(), 0.0);
    double *sums = one.sums.data(), *squares = one.squares.data();
    for (size_t row = 1; row < static_cast<size_t>(batch.numRows); ++row) {
      const float* values = origin + row * width;
      for (size_t i = 0; i < width; ++i) {
        double distance = static_cast<double>(values[i]) - static_cast<double>(origin[i]);
        sums[i] += distance;
        squares[i] += distance * distance;
      }
    }
    for (size_t i = 0; i < width; ++i) {
      double center = sums[i] / count;
      one.elements[i].merge({count, origin[i] + center, std::max(squares[i] - sums[i] * center, 0.0)});
    }
  }
}

std::vector<Moments> InputStatistics::momentsOf(const network::Node& node, const network::Normalization& layer) const {
  size_t input = inputBefore(graph_, node);
  auto measured = std::find_if(inputs_.begin(), inputs_.end(), [&](const auto& one) { return one.input == input; });
  std::vector<Moments> moments(static_cast<size_t>(layer.size));
  for (size_t i = 0; i < measured->elements.size(); ++i) moments[i % moments.size()].merge(measured->elements[i]);
  return moments;
}

void InputStatistics::settle(comm::Communicator& communicator, comm::Timeout timeout, const Arena& parameters) const {
  ArenaLayout layout = graph_.parameters().layout();
  for (size_t index : graph_.measuredNodes()) {
    const network::Node& node = graph_.nodes()[index];
    std::vector<Moments> own = momentsOf(node, std::get<network::Normalization>(node.layer)), all(own.size());
    for (int rank = 0; rank < communicator.size(); ++rank) {
      std::vector<Moments> theirs = own;
      communicator.broadcast(std::as_writable_bytes(std::span(theirs)), rank, timeout);
      for (size_t i = 0; i < all.size(); ++i) all[i].merge(theirs[i]);
    }
    float* means = parameters.view(layout.slices()[node.firstParameter]).data;
    float* variances = parameters.view(layout.slices()[node.firstParameter + 1]).data;
    for (size_t i = 0; i < all.size() && all[i].count > 0; ++i) {
      means[i] = static_cast<float>(all[i].mean);
      variances[i] = static_cast<float>(all[i].variance());
      if (std::isfinite(means[i]) && std::isfinite(variances[i])) continue;
      throw UserError(message("Statistics are not finite: layer '", node.name, "' (Normalization), element ", i,
                              ", mean ", all[i].mean, ", variance ", all[i].variance(),
                              "; look for NaN, infinity or huge values in the rows, or give it mean and variance"));
    }
  }
}

void measureInputs(const LoopContext& context, comm::Timeout timeout, comm::Timeout patience) {
  const network::Graph& graph = context.task.graph;
  if (graph.measuredNodes().empty() || context.keepsStatistics) return;
  TraceScope scope(context.trace, "input statistics", "compute");
  const data::RowStore& rows = context.trainingRows;
  int64_t size =
      std::min(kRowsAtOnce, context.task.training.batchSizeOf(context.task.worker.rank, context.task.worker.size));
  data::Prefetcher batches(rows, size, kAhead, context.cancellation, context.trace);
  batches.startEpoch(
      std::make_unique<data::OrderedRows>(data::Order(rows.numRows(), rows.rowsPerBlock(), 0, 0, false), size));
  InputStatistics statistics(graph);
  double busy = 1;
  while (busy > 0) {
    context.cancellation.throwIfCancelled();
    auto end = std::chrono::steady_clock::now() + patience;
    while (data::Batch* batch = batches.peek()) {
      statistics.add(*batch);
      batches.pop();
      if (std::chrono::steady_clock::now() >= end) break;
    }
    busy = batches.peek() == nullptr ? 0 : 1;
    context.communicator.allreduce(std::span(&busy, 1), timeout);
  }
  statistics.settle(context.communicator, timeout, context.parameters);
}

}  // namespace bloomery::train
