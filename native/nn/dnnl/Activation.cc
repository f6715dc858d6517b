// Activations that are layers of their own, and Flatten, which only reads its input by another shape.
#include "nn/Softmax.h"
#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

// Forward only, in place where that is allowed: the backward half is the output edge's pending ReLU.
class Relu final : public Step {
 public:
  Relu(const Edge& input, const Edge& output, PlanBuilder& builder) : forward_(plan(input, output, builder)) {}
  void forward(const Pass& pass) override { forward_.run(pass.stream); }
  void backward(const Pass&) override {}

 private:
  static Operation plan(const Edge& input, const Edge& output, PlanBuilder& builder) {
    dnnl::memory::desc desc = input.value.get_desc();
    dnnl::eltwise_forward::primitive_desc forward(
        builder.engine(), builder.forwardKind(), dnnl::algorithm::eltwise_relu, desc, desc, 0.0f, builder.attributes());
    return builder.operation(Phase::kForward, forward, {{DNNL_ARG_SRC, input.value}, {DNNL_ARG_DST, output.value}});
  }

  Operation forward_;
};

// Over the last axis of rows in canonical order.
class Softmax final : public Step {
 public:
  Softmax(const Edge& input, const Edge& output, PlanBuilder& builder)
      : classes_(output.shape.extents().back()),
        numRows_(builder.options().batchSize * output.shape.numElements() / classes_),
        input_(input.value),
        output_(output.value),
        gradient_(output.gradient) {
    builder.use(Phase::kForward, input_);
    builder.use(Phase::kForward, output_);
    if (!gradient_) return;
    builder.use(Phase::kBackward, output_);
    builder.use(Phase::kBackward, gradient_);
  }

  void forward(const Pass&) override { softmaxRows(dataOf(input_), numRows_, classes_, dataOf(output_)); }

  void backward(const Pass&) override {
    if (!gradient_) return;
    softmaxRowsBackward(dataOf(output_), numRows_, classes_, dataOf(gradient_));
  }

 private:
  int64_t classes_, numRows_;
  dnnl::memory input_, output_, gradient_;
};

Edge planRelu(const Edge& given, PlanBuilder& builder) {
  Edge input = builder.settled(given), output = input;
  if (!input.overwritable) output.value = builder.buffers().add(input.value.get_desc());
  output.overwritable = true;
  output.reluPending = true;
  builder.add(std::make_unique<Relu>(input, output, builder));
  return output;
}

Edge planSoftmax(const network::Node& node, const Edge& given, PlanBuilder& builder) {
  Edge input = builder.reordered(builder.settled(given), builder.canonical(node.input)), output = input;
  output.value = builder.buffers().add(input.value.get_desc());  // never in place: the input's sign may be wanted
  output.overwritable = false;                                   // backward reads it
  builder.add(std::make_unique<Softmax>(input, output, builder));
  return output;
}

}  // namespace

Edge planLayer(const network::Activation& layer, const network::Node& node, const Edge& input, PlanBuilder& builder) {
  switch (layer.function) {
    case network::Function::kLinear:
      return input;
    case network::Function::kRelu:
      return planRelu(input, builder);
    case network::Function::kSoftmax:
      return planSoftmax(node, input, builder);
    case network::Function::kSigmoid:
      break;
  }
  throw InternalError(message("No plan for activation: ", network::nameOf(layer.function)));
}

Edge planLayer(const network::Flatten&, const network::Node& node, const Edge& given, PlanBuilder& builder) {
  Edge output = builder.reordered(given, builder.canonical(node.input));
  dnnl::memory::desc flat = builder.canonical(node.output);
  output.shape = node.output;
  output.value = builder.buffers().alias(output.value, flat);
  if (output.gradient) output.gradient = builder.buffers().alias(output.gradient, flat);
  return output;
}

}  // namespace bloomery::nn
