#include "base/Error.h"
#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

using network::Node;

// A linear layer followed by a ReLU layer runs as one with a ReLU of its own.
bool takesRelu(network::Layer& layer, const network::Layer& next) {
  auto* activation = std::get_if<network::Activation>(&next);
  if (activation == nullptr || activation->function != network::Function::kRelu) return false;
  auto take = [](auto& any) {
    if (any.activation != network::Function::kLinear) return false;
    any.activation = network::Function::kRelu;
    return true;
  };
  if (auto* conv = std::get_if<network::Conv2D>(&layer)) return take(*conv);
  if (auto* dense = std::get_if<network::Dense>(&layer)) return take(*dense);
  return false;
}

Edge planLayer(const network::Input&, const Node& node, const Edge&, PlanBuilder& builder) {
  return planInput(node, builder);
}

// All layers but a final softmax, which is left to the loss; returns the edge of the logits, in canonical order.
Edge planGraph(const network::Graph& graph, PlanBuilder& builder) {
  const std::vector<Node>& nodes = graph.nodes();
  size_t numPlanned = nodes.size() - (graph.outputHeads()[0].tail == network::Function::kLinear ? 0 : 1);
  Edge edge;
  for (size_t i = 0; i < numPlanned; ++i) {
    network::Layer layer = nodes[i].layer;
    bool fused = i + 1 < numPlanned && takesRelu(layer, nodes[i + 1].layer);
    edge = std::visit([&](const auto& any) { return planLayer(any, nodes[i], edge, builder); }, layer);
    if (fused) ++i;
  }
  edge = builder.reordered(builder.settled(edge), builder.canonical(nodes[numPlanned - 1].output));
  builder.keep(edge.value);
  if (builder.options().training) {
    if (!edge.gradient) edge.gradient = builder.buffers().add(edge.value.get_desc());
    builder.use(Phase::kForward, edge.gradient);  // the loss writes it between the passes
    builder.use(Phase::kBackward, edge.gradient);
  }
  return edge;
}

class DnnlPlan final : public Plan {
 public:
  DnnlPlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients, const PlanOptions& options)
      : builder_(graph, &parameters, gradients, options),
        output_(planGraph(graph, builder_)),
        steps_(builder_.takeSteps()) {
    builder_.buffers().allocate();
    memoryBytes_ = builder_.buffers().bytes();
    std::vector<int64_t> extents = output_.shape.extents();
    extents.insert(extents.begin(), options.batchSize);
    logits_.shape = Shape(extents);
    logitGradients_.shape = Shape(std::move(extents));
    if (options.training) logitGradients_.data = dataOf(output_.gradient);
  }

  void forward(const BatchInput& batch, Mode mode) override {
    check(batch.numRows <= batchSize(), "More rows than the plan takes: ", batch.numRows, ", plan: ", batchSize());
    batch_ = batch;
    Pass pass{stream_, batch_, mode};
    for (auto& planned : steps_) planned.step->forward(pass);
    logits_.data = dataOf(output_.value);
  }

  const TensorView& logits(size_t) const override { return logits_; }
  const TensorView& logitGradients(size_t) const override { return logitGradients_; }

  void backward(GradientSink& sink) override {
    check(builder_.options().training, "An inference plan has no backward");
    Pass pass{stream_, batch_, Mode::kTraining};
    for (auto planned = steps_.rbegin(); planned != steps_.rend(); ++planned) {
      planned->step->backward(pass);
      if (planned->node == nullptr) continue;
      for (size_t i = planned->node->numParameters; i > 0; --i) sink.ready(planned->node->firstParameter + i - 1);
    }
  }

  size_t memoryBytes() const override { return memoryBytes_; }

 private:
  int64_t batchSize() const { return builder_.options().batchSize; }

  PlanBuilder builder_;  // keeps the engine and the buffers
  Edge output_;
  std::vector<PlanBuilder::PlannedStep> steps_;
  dnnl::stream stream_{builder_.engine()};
  size_t memoryBytes_ = 0;
  BatchInput batch_;
  TensorView logits_, logitGradients_;
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
    planGraph(graph, builder);
    return builder.buffers().bytes();
  });
}

}  // namespace bloomery::nn
