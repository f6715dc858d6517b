// Activations that are layers of their own.
#include <algorithm>

#include "nn/Softmax.h"
#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

using network::Function;

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

// What oneDNN calls a function, and whether its slope can be told from the output, so that the input is free.
struct Recipe {
  dnnl::algorithm forward, backward;
  float alpha = 0;
  bool fromOutput = false;
  float beta = 0;
};

Recipe recipeOf(const network::Activation& layer) {
  using Algorithm = dnnl::algorithm;
  float slope = static_cast<float>(layer.slope);
  switch (layer.function) {
    case Function::kLeakyRelu:
      return {Algorithm::eltwise_relu, Algorithm::eltwise_relu, slope};
    case Function::kElu:
      return {Algorithm::eltwise_elu, Algorithm::eltwise_elu, slope};
    case Function::kGelu:
      return {Algorithm::eltwise_gelu_erf, Algorithm::eltwise_gelu_erf};
    case Function::kSilu:
      return {Algorithm::eltwise_swish, Algorithm::eltwise_swish, 1.0f};
    case Function::kSigmoid:
      return {Algorithm::eltwise_logistic_use_dst_for_bwd, Algorithm::eltwise_logistic_use_dst_for_bwd, 0, true};
    case Function::kTanh:
      return {Algorithm::eltwise_tanh_use_dst_for_bwd, Algorithm::eltwise_tanh_use_dst_for_bwd, 0, true};
    case Function::kSoftplus:
      return {Algorithm::eltwise_soft_relu, Algorithm::eltwise_soft_relu, 1.0f};
    case Function::kLinear:
    case Function::kRelu:
    case Function::kSoftmax:
      break;
  }
  throw InternalError(message("No element-wise primitive for activation: ", network::nameOf(layer.function)));
}

class Elementwise final : public Step {
 public:
  Elementwise(const Recipe& recipe, const Edge& input, const Edge& output, PlanBuilder& builder) {
    dnnl::memory::desc desc = input.value.get_desc();
    dnnl::eltwise_forward::primitive_desc forward(builder.engine(), builder.forwardKind(), recipe.forward, desc, desc,
                                                  recipe.alpha, recipe.beta, builder.attributes());
    forward_.push_back(
        builder.operation(Phase::kForward, forward, {{DNNL_ARG_SRC, input.value}, {DNNL_ARG_DST, output.value}}));
    if (!input.gradient) return;
    dnnl::eltwise_backward::primitive_desc backward(builder.engine(), recipe.backward, desc, desc, desc, recipe.alpha,
                                                    recipe.beta, forward, builder.attributes());
    Arguments arguments = {{DNNL_ARG_DIFF_DST, output.gradient}, {DNNL_ARG_DIFF_SRC, input.gradient}};
    arguments.emplace_back(recipe.fromOutput ? std::pair(DNNL_ARG_DST, output.value)
                                             : std::pair(DNNL_ARG_SRC, input.value));
    backward_.push_back(builder.operation(Phase::kBackward, backward, std::move(arguments)));
  }
  void forward(const Pass& pass) override {
    for (const Operation& operation : forward_) operation.run(pass.stream);
  }
  void backward(const Pass& pass) override {
    for (const Operation& operation : backward_) operation.run(pass.stream);
  }

 private:
  std::vector<Operation> forward_, backward_;
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

Edge planSoftmax(const Edge& given, PlanBuilder& builder) {
  Edge input = builder.plain(given), output = input;
  output.value = builder.buffers().add(input.value.get_desc());  // never in place: the input's sign may be wanted
  output.overwritable = false;                                   // backward reads it
  output.gradientIsOnlyRead = false;
  builder.add(std::make_unique<Softmax>(input, output, builder));
  return output;
}

Edge planElementwise(const Recipe& recipe, const Edge& given, PlanBuilder& builder) {
  Edge input = builder.settled(given);
  Edge output = builder.edge(input.shape, input.value.get_desc(), static_cast<bool>(input.gradient));
  output.overwritable = !recipe.fromOutput;
  output.indices = input.indices;
  builder.add(std::make_unique<Elementwise>(recipe, input, output, builder));
  return output;
}

}  // namespace

Edge planLayer(const network::Activation& layer, const Site& site, PlanBuilder& builder) {
  if (layer.function == Function::kLinear) return site.input();
  if (layer.function == Function::kRelu) return planRelu(site.input(), builder);
  if (layer.function == Function::kSoftmax) return planSoftmax(site.input(), builder);
  return planElementwise(recipeOf(layer), site.input(), builder);
}

Edge planLayer(const network::Rescaling& layer, const Site& site, PlanBuilder& builder) {
  constexpr auto kLinear = dnnl::algorithm::eltwise_linear;
  Recipe recipe{kLinear, kLinear, static_cast<float>(layer.scale), false, static_cast<float>(layer.offset)};
  return planElementwise(recipe, site.input(), builder);
}

}  // namespace bloomery::nn
