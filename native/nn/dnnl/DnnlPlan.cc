#include <algorithm>
#include <limits>

#include "base/Error.h"
#include "nn/LayerStopwatch.h"
#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/Arrays.h"

namespace bloomery::nn {

namespace {

using network::Node;

bool isRelu(const network::Layer& layer) {
  auto* activation = std::get_if<network::Activation>(&layer);
  return activation != nullptr && activation->function == network::Function::kRelu;
}

// Layers whose kernels have a place for a ReLU at the end.
bool canEndInRelu(const network::Layer& layer) {
  auto* merge = std::get_if<network::Merge>(&layer);
  return std::holds_alternative<network::Convolution>(layer) || std::holds_alternative<network::Dense>(layer) ||
         std::holds_alternative<network::BatchNormalization>(layer) ||
         (merge != nullptr && merge->how == network::Merge::How::kAdd);
}

// Plans the nodes one after the other and hands the edges from those who made them to those who take them.
class GraphPlanner {
 public:
  GraphPlanner(const network::Graph& graph, PlanBuilder& builder)
      : graph_(graph),
        builder_(builder),
        takers_(graph.nodes().size()),
        edges_(graph.nodes().size()),
        planned_(graph.nodes().size(), false) {
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      if (isTail(i)) continue;
      for (size_t input : graph.nodes()[i].inputs) takers_[input].push_back(i);
    }
    for (const network::Output& output : graph.outputs()) takers_[output.node].push_back(kCaller);
  }

  // The edges of the logits, in canonical order.
  std::vector<Edge> plan() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!takers_[i].empty() && !planned_[i]) planNode(i);
    }
    std::vector<Edge> outputs;
    for (const network::Output& output : graph_.outputs()) outputs.push_back(planOutput(output.node));
    return outputs;
  }

 private:
  static constexpr size_t kCaller = std::numeric_limits<size_t>::max();

  // A final softmax or sigmoid, which is left to the loss.
  bool isTail(size_t index) const {
    for (const network::Output& output : graph_.outputs()) {
      if (output.last == index && output.last != output.node) return true;
    }
    return false;
  }

  const network::Layer& layerOf(size_t index) const { return graph_.nodes()[index].layer; }

  // The node that takes this one's output, when exactly one does; 0, an Input, when it is the caller or there are more.
  size_t onlyTaker(size_t index) const {
    return takers_[index].size() == 1 && takers_[index][0] != kCaller ? takers_[index][0] : 0;
  }

  // The node whose ReLU this one may do, or none.
  size_t reluBehind(size_t index) const {
    size_t taker = onlyTaker(index);
    return canEndInRelu(layerOf(index)) && isRelu(layerOf(taker)) ? taker : 0;
  }

  // The batch normalization that this node does as well, in a plan without gradients, or none.
  size_t normBehind(size_t index) const {
    const network::Layer& layer = layerOf(index);
    bool canFold = std::holds_alternative<network::Convolution>(layer) || std::holds_alternative<network::Dense>(layer);
    if (builder_.options().training || !canFold || network::activationOf(layer) != network::Function::kLinear) return 0;
    size_t taker = onlyTaker(index);
    return std::holds_alternative<network::BatchNormalization>(layerOf(taker)) ? taker : 0;
  }

  // The zeros that the only layer behind can stand its windows on without their being written. To a maximum they are
  // nothing where no value is below zero: every window has a value in it.
  bool leavesZerosToTaker(size_t index) const {
    const auto* zeros = std::get_if<network::ZeroPadding>(&layerOf(index));
    size_t taker = onlyTaker(index);
    if (zeros == nullptr || taker == 0) return false;
    auto isWithin = [&](const network::Pair& window) {
      return std::max(zeros->vertical.first, zeros->vertical.second) < window.first &&
             std::max(zeros->horizontal.first, zeros->horizontal.second) < window.second;
    };
    if (const auto* layer = std::get_if<network::Convolution>(&layerOf(taker))) return isWithin(layer->kernelSize);
    const auto* pooling = std::get_if<network::Pooling>(&layerOf(taker));
    return pooling != nullptr && pooling->maximum && !pooling->global && pooling->padding == network::Padding::kValid &&
           isWithin(pooling->poolSize) &&
           network::activationOf(layerOf(graph_.nodes()[index].inputs[0])) == network::Function::kRelu;
  }

  // One for each taker. Where the first of two is a batch normalization, its part of backward comes last, and it adds
  // up the gradients on the way.
  std::vector<Edge> forked(size_t index, const Edge& edge) {
    const std::vector<size_t>& takers = takers_[index];
    if (takers.size() == 1) return {edge};
    if (takers.size() == 2 && takers[0] != kCaller && edge.gradient && !edge.reluPending) {
      const auto* norm = std::get_if<network::BatchNormalization>(&layerOf(takers[0]));
      if (norm != nullptr && takesAsItIs(*norm, edge, builder_)) return builder_.forkedWithAddend(edge);
    }
    return builder_.forked(edge, takers.size());
  }

  void planNode(size_t index) {
    const Node& node = graph_.nodes()[index];
    builder_.enter(index);
    std::vector<Edge> inputs;
    for (size_t input : node.inputs) inputs.push_back(take(input));
    if (leavesZerosToTaker(index)) {
      edges_[index] = inputs;
      planned_[index] = true;
      return;
    }
    bool onZeros = node.inputs.size() == 1 && leavesZerosToTaker(node.inputs[0]);
    size_t norm = normBehind(index), end = norm == 0 ? index : norm;
    size_t relu = reluBehind(end), last = relu == 0 ? end : relu;
    bool hasRelu = relu != 0 || (network::activationOf(node.layer) == network::Function::kRelu && !isRelu(node.layer));
    Site site{.node = node,
              .inputs = inputs,
              .relu = hasRelu,
              .norm = norm == 0 ? nullptr : &graph_.nodes()[norm],
              .zeros = onZeros ? &std::get<network::ZeroPadding>(layerOf(node.inputs[0])) : nullptr};
    Edge edge = std::visit([&](const auto& any) { return planLayer(any, site, builder_); }, node.layer);
    if (!inputs.empty() && network::keepsSteps(node.layer) && !edge.indices) edge.indices = inputs[0].indices;
    edges_[last] = forked(last, edge);
    planned_[index] = planned_[end] = planned_[last] = true;
  }

  Edge take(size_t index) {
    Edge edge = edges_[index].back();
    if (edges_[index].size() > 1) edges_[index].pop_back();
    return edge;
  }

  Edge planOutput(size_t index) {
    Edge edge = builder_.plain(take(index));
    builder_.keep(edge.value);
    if (builder_.options().training) {
      if (!edge.gradient) edge.gradient = builder_.buffers().add(edge.value.get_desc());
      builder_.use(Phase::kForward, edge.gradient);  // the loss writes it between the passes
      builder_.use(Phase::kBackward, edge.gradient);
    }
    return edge;
  }

  const network::Graph& graph_;
  PlanBuilder& builder_;
  std::vector<std::vector<size_t>> takers_;  // of each node: who takes its output, in the order they run
  std::vector<std::vector<Edge>> edges_;     // of each node that is planned: one for each who has not taken his yet
  std::vector<bool> planned_;                // also nodes whose work another one does
};

class DnnlPlan final : public Plan {
 public:
  DnnlPlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients, const PlanOptions& options)
      : builder_(graph, &parameters, gradients, options),
        outputs_(GraphPlanner(graph, builder_).plan()),
        steps_(builder_.takeSteps()),
        profile_(options.profile) {
    if (profile_ != nullptr) profile_->open(graph, options.batchSize, options.training);
    builder_.buffers().allocate();
    memoryBytes_ = builder_.buffers().bytes();
    for (const Edge& output : outputs_) {
      std::vector<int64_t> extents = output.shape.extents();
      extents.insert(extents.begin(), options.batchSize);
      logits_.push_back({nullptr, Shape(extents)});
      logitGradients_.push_back({options.training ? dataOf(output.gradient) : nullptr, Shape(std::move(extents))});
    }
  }

  void forward(const BatchInput& batch, Mode mode) override {
    check(batch.numRows <= batchSize(), "More rows than the plan takes: ", batch.numRows, ", plan: ", batchSize());
    batch_ = batch;
    Pass pass{stream_, batch_, mode};
    bool validates = builder_.options().training && mode == Mode::kInference;
    Profile* profile = validates ? nullptr : profile_;
    for (auto& planned : steps_) {
      LayerStopwatch watch(profile, planned.owner, &LayerTimes::forwardSeconds, &LayerTimes::forwardSpan);
      planned.step->forward(pass);
    }
    if (profile != nullptr) ++profile->forwardPasses;
    for (size_t i = 0; i < outputs_.size(); ++i) logits_[i].data = dataOf(outputs_[i].value);
  }

  const TensorView& logits(size_t output) const override { return logits_[output]; }
  const TensorView& logitGradients(size_t output) const override { return logitGradients_[output]; }

  void backward(GradientSink& sink) override {
    check(builder_.options().training, "An inference plan has no backward");
    Pass pass{stream_, batch_, Mode::kTraining};
    if (profile_ != nullptr) ++profile_->backwardPasses;
    for (auto planned = steps_.rbegin(); planned != steps_.rend(); ++planned) {
      LayerStopwatch watch(profile_, planned->owner, &LayerTimes::backwardSeconds, &LayerTimes::backwardSpan);
      planned->step->backward(pass);
      for (const auto& [from, to] : planned->addends) {
        addArrays(dataOf(to), dataOf(from), nullptr, numFloats(from), dataOf(to));
      }
      size_t numParameters = planned->node == nullptr ? 0 : planned->node->numParameters;
      for (size_t i = numParameters; i > 0; --i) sink.ready(planned->node->firstParameter + i - 1);
      planned->step->backwardInput(pass);
    }
  }

  size_t memoryBytes() const override { return memoryBytes_; }

 private:
  int64_t batchSize() const { return builder_.options().batchSize; }

  PlanBuilder builder_;  // keeps the engine and the buffers
  std::vector<Edge> outputs_;
  std::vector<PlanBuilder::PlannedStep> steps_;
  Profile* profile_;
  dnnl::stream stream_{builder_.engine()};
  size_t memoryBytes_ = 0;
  BatchInput batch_;
  std::vector<TensorView> logits_, logitGradients_;
};

// oneDNN's own errors become ours.
template <typename Make>
auto translated(Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw ResourceError(message("Out of memory: oneDNN: ", error.what()));
    throw InternalError(message("oneDNN refused to plan the network: ", error.what()));
  }
}

}  // namespace

std::unique_ptr<Plan> makeDnnlPlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                   const PlanOptions& options) {
  check(!options.training || gradients != nullptr, "A training plan needs a gradient arena");
  return translated([&] { return std::make_unique<DnnlPlan>(graph, parameters, gradients, options); });
}

size_t estimateActivationBytes(const network::Graph& graph, int64_t batchSize, bool training) {
  return translated([&] {
    PlanBuilder builder(graph, nullptr, nullptr, {batchSize, training, 0});
    GraphPlanner(graph, builder).plan();
    return builder.buffers().bytes();
  });
}

}  // namespace bloomery::nn
