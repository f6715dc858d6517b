#include <algorithm>
#include <vector>

#include "base/Error.h"
#include "nn/LayerStopwatch.h"
#include "nn/Plan.h"
#include "nn/reference/Layers.h"

namespace bloomery::nn {

namespace {

using network::Node;

TensorView batched(std::vector<float>& values, int64_t batch, const Shape& shape) {
  std::vector<int64_t> extents = shape.extents();
  extents.insert(extents.begin(), batch);
  return {values.data(), Shape(std::move(extents))};
}

class ReferencePlan final : public Plan {
 public:
  ReferencePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                const PlanOptions& options)
      : graph_(graph), options_(options), masks_(graph.nodes().size()) {
    check(!options.training || gradients != nullptr, "A training plan needs a gradient arena");
    if (options.profile != nullptr) options.profile->open(graph, options.batchSize, options.training);
    ArenaLayout layout = graph.parameters().layout();
    for (const Slice& slice : layout.slices()) {
      parameters_.push_back(parameters.view(slice));
      if (options.training) gradients_.push_back(gradients->view(slice));
    }
    for (const Node& node : graph.nodes()) {
      size_t size = static_cast<size_t>(options.batchSize * node.output.numElements());
      values_.emplace_back(size);
      valueGradients_.emplace_back(options.training ? size : 0);
    }
    for (const network::Output& output : graph.outputs()) {
      const Shape& shape = graph.nodes()[output.node].output;
      logits_.push_back(batched(values_[output.node], options.batchSize, shape));
      outputGradients_.emplace_back(valueGradients_[output.node].size());
      logitGradients_.push_back(batched(outputGradients_.back(), options.batchSize, shape));
    }
  }

  void forward(const BatchInput& batch, Mode mode) override {
    check(batch.numRows <= options_.batchSize, "More rows than the plan takes: ", batch.numRows,
          ", plan: ", options_.batchSize);
    batch_ = batch;
    training_ = options_.training && mode == Mode::kTraining;
    if (training_ && options_.rows != nullptr) markAllRows();
    rowIds_.assign(batch.rowIds.begin(), training_ ? batch.rowIds.end() : batch.rowIds.begin());
    for (size_t k = 0; k < graph_.inputs().size(); ++k) {
      size_t index = graph_.inputs()[k];
      std::fill(values_[index].begin(), values_[index].end(), 0.0f);
      std::copy_n(batch.inputs[k], batch.numRows * graph_.nodes()[index].output.numElements(), values_[index].data());
    }
    bool validates = options_.training && mode == Mode::kInference;
    Profile* profile = validates ? nullptr : options_.profile;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      LayerStopwatch watch(profile, i, &LayerTimes::forwardSeconds, &LayerTimes::forwardSpan);
      setMask(i);
      Ends ends(*this, i);
      reference::Site site = siteOf(i, ends);
      std::visit([&](const auto& layer) { reference::forward(layer, site); }, graph_.nodes()[i].layer);
    }
    if (profile != nullptr) ++profile->forwardPasses;
  }

  const TensorView& logits(size_t output) const override { return logits_[output]; }
  const TensorView& logitGradients(size_t output) const override { return logitGradients_[output]; }

  void backward(GradientSink& sink) override {
    check(options_.training, "An inference plan has no backward");
    if (options_.profile != nullptr) ++options_.profile->backwardPasses;
    for (auto& values : valueGradients_) std::fill(values.begin(), values.end(), 0.0f);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      add(outputGradients_[i], valueGradients_[graph_.outputs()[i].node].data());
    }
    std::vector<std::vector<float>> sums(gradients_.size());
    for (size_t i = graph_.nodes().size(); i > 0; --i) backwardNode(i - 1, sums, sink);
  }

  size_t memoryBytes() const override {
    size_t numFloats = 0;
    for (const auto& values : values_) numFloats += values.size();
    for (const auto& values : valueGradients_) numFloats += values.size();
    return numFloats * sizeof(float);
  }

 private:
  // Backward writes slices whole.
  void markAllRows() const {
    for (size_t slice : options_.rows->slices()) options_.rows->find(slice)->markAll();
  }

  // The ends of a node's inputs; gradients go to memory of their own, since several nodes may take one value.
  struct Ends {
    Ends(ReferencePlan& plan, size_t index) {
      for (size_t input : plan.graph_.nodes()[index].inputs) {
        values.push_back(plan.values_[input].data());
        shapes.push_back(plan.graph_.nodes()[input].output);
        gradients.emplace_back(plan.valueGradients_[input].size());
        pointers.push_back(gradients.back().data());
      }
    }
    std::vector<const float*> values;
    std::vector<Shape> shapes;
    std::vector<std::vector<float>> gradients;
    std::vector<float*> pointers;
  };

  static void add(const std::vector<float>& from, float* to) {
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }

  // Parameters may be shared: gradients add up from the last node that uses them to the first.
  void backwardNode(size_t index, std::vector<std::vector<float>>& sums, GradientSink& sink) {
    LayerStopwatch watch(options_.profile, index, &LayerTimes::backwardSeconds, &LayerTimes::backwardSpan);
    const Node& node = graph_.nodes()[index];
    Ends ends(*this, index);
    reference::Site site = siteOf(index, ends);
    std::visit([&](const auto& layer) { reference::backward(layer, site); }, node.layer);
    for (size_t k = 0; k < node.inputs.size(); ++k) add(ends.gradients[k], valueGradients_[node.inputs[k]].data());
    bool first = true;
    for (size_t i = 0; i < index; ++i) {
      first = first && (node.numParameters == 0 || graph_.nodes()[i].numParameters == 0 ||
                        graph_.nodes()[i].firstParameter != node.firstParameter);
    }
    for (size_t k = node.firstParameter; k < node.firstParameter + node.numParameters; ++k) {
      std::span<float> gradient = gradients_[k].span();
      if (!sums[k].empty()) add(sums[k], gradient.data());
      sums[k].assign(gradient.begin(), gradient.end());
    }
    for (size_t k = node.numParameters; first && k > 0; --k) sink.ready(node.firstParameter + k - 1);
  }

  // Steps to skip, from an Embedding on, through every layer that keeps the steps.
  void setMask(size_t index) {
    const Node& node = graph_.nodes()[index];
    masks_[index].clear();
    if (auto* embedding = std::get_if<network::Embedding>(&node.layer)) {
      if (!embedding->maskZero) return;
      for (float value : values_[node.inputs[0]]) masks_[index].push_back(value != 0.0f);
    } else if (network::keepsSteps(node.layer)) {
      for (size_t input : node.inputs) {
        if (masks_[index].empty()) masks_[index] = masks_[input];
      }
    }
  }

  reference::Site siteOf(size_t i, const Ends& ends) {
    const Node& node = graph_.nodes()[i];
    auto own = [&](const std::vector<TensorView>& all) {
      return all.empty() ? std::span<const TensorView>()
                         : std::span(all).subspan(node.firstParameter, node.numParameters);
    };
    bool masked = !node.inputs.empty() && !masks_[node.inputs[0]].empty();
    return {.node = node,
            .batch = options_.batchSize,
            .numRows = batch_.numRows,
            .input = ends.values.empty() ? nullptr : ends.values[0],
            .output = values_[i].data(),
            .outputGradient = valueGradients_[i].data(),
            .inputGradient = ends.pointers.empty() ? nullptr : ends.pointers[0],
            .parameters = own(parameters_),
            .gradients = own(gradients_),
            .rowIds = rowIds_,
            .seed = options_.seed,
            .epoch = batch_.epoch,
            .training = training_ && node.trainable,
            .rowShare = batch_.rowShare,
            .reducer = options_.reducer,
            .inputs = ends.values,
            .inputGradients = ends.pointers,
            .inputShapes = ends.shapes,
            .mask = masked ? &masks_[node.inputs[0]] : nullptr};
  }

  const network::Graph& graph_;
  PlanOptions options_;
  std::vector<TensorView> parameters_, gradients_;
  std::vector<std::vector<float>> values_, valueGradients_;  // of each node: [batch, node.output]
  std::vector<std::vector<float>> outputGradients_;          // of each output, before they are added up
  std::vector<std::vector<char>> masks_;                     // of each node: [batch, steps], or empty
  std::vector<uint64_t> rowIds_;
  BatchInput batch_;
  bool training_ = false;
  std::vector<TensorView> logits_, logitGradients_;
};

}  // namespace

std::unique_ptr<Plan> makeReferencePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                        const PlanOptions& options) {
  return std::make_unique<ReferencePlan>(graph, parameters, gradients, options);
}

}  // namespace bloomery::nn
