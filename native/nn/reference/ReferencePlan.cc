#include <algorithm>
#include <vector>

#include "base/Error.h"
#include "nn/Plan.h"
#include "nn/reference/Layers.h"

namespace bloomery::nn {

namespace {

class ReferencePlan final : public Plan {
 public:
  ReferencePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                const PlanOptions& options)
      : graph_(graph),
        options_(options),
        numSteps_(graph.nodes().size() - (graph.outputHeads()[0].tail == network::Function::kLinear ? 0 : 1)) {
    check(!options.training || gradients != nullptr, "A training plan needs a gradient arena");
    ArenaLayout layout = graph.parameters().layout();
    for (const Slice& slice : layout.slices()) {
      parameters_.push_back(parameters.view(slice));
      if (options.training) gradients_.push_back(gradients->view(slice));
    }
    for (size_t i = 0; i < numSteps_; ++i) {
      size_t size = static_cast<size_t>(options.batchSize * graph.nodes()[i].output.numElements());
      values_.emplace_back(size);
      valueGradients_.emplace_back(options.training ? size : 0);
    }
    std::vector<int64_t> extents = graph.nodes()[numSteps_ - 1].output.extents();
    extents.insert(extents.begin(), options.batchSize);
    logits_ = {values_.back().data(), Shape(extents)};
    logitGradients_ = {valueGradients_.back().data(), Shape(extents)};
  }

  void forward(const BatchInput& batch, Mode mode) override {
    check(batch.numRows <= options_.batchSize, "More rows than the plan takes: ", batch.numRows,
          ", plan: ", options_.batchSize);
    std::fill(values_[0].begin(), values_[0].end(), 0.0f);
    std::copy_n(batch.inputs[0], batch.numRows * graph_.nodes()[0].output.numElements(), values_[0].data());
    bool drops = options_.training && mode == Mode::kTraining;
    rowIds_.assign(batch.rowIds.begin(), drops ? batch.rowIds.end() : batch.rowIds.begin());
    epoch_ = batch.epoch;
    for (size_t i = 1; i < numSteps_; ++i) {
      std::visit([&](const auto& layer) { reference::forward(layer, siteOf(i)); }, graph_.nodes()[i].layer);
    }
  }

  const TensorView& logits(size_t) const override { return logits_; }
  const TensorView& logitGradients(size_t) const override { return logitGradients_; }

  void backward(GradientSink& sink) override {
    check(options_.training, "An inference plan has no backward");
    for (size_t i = numSteps_ - 1; i > 0; --i) {
      const network::Node& node = graph_.nodes()[i];
      std::visit([&](const auto& layer) { reference::backward(layer, siteOf(i)); }, node.layer);
      for (size_t k = node.numParameters; k > 0; --k) sink.ready(node.firstParameter + k - 1);
    }
  }

  size_t memoryBytes() const override {
    size_t numFloats = 0;
    for (const auto& values : values_) numFloats += values.size();
    for (const auto& values : valueGradients_) numFloats += values.size();
    return numFloats * sizeof(float);
  }

 private:
  reference::Site siteOf(size_t i) {
    const network::Node& node = graph_.nodes()[i];
    auto own = [&](const std::vector<TensorView>& all) {
      return all.empty() ? std::span<const TensorView>()
                         : std::span(all).subspan(node.firstParameter, node.numParameters);
    };
    return {node,
            options_.batchSize,
            values_[i - 1].data(),
            values_[i].data(),
            valueGradients_[i].data(),
            valueGradients_[i - 1].data(),
            own(parameters_),
            own(gradients_),
            rowIds_,
            options_.seed,
            epoch_};
  }

  const network::Graph& graph_;
  PlanOptions options_;
  size_t numSteps_;  // the final softmax is left to the loss
  std::vector<TensorView> parameters_, gradients_;
  std::vector<std::vector<float>> values_, valueGradients_;  // of each node: [batch, node.output]
  std::vector<uint64_t> rowIds_;
  int64_t epoch_ = 0;
  TensorView logits_, logitGradients_;
};

}  // namespace

std::unique_ptr<Plan> makeReferencePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                        const PlanOptions& options) {
  return std::make_unique<ReferencePlan>(graph, parameters, gradients, options);
}

}  // namespace bloomery::nn
