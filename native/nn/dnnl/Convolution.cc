#include <string_view>

#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

struct Geometry {
  Dims strides, paddingBefore, paddingAfter;
};

Geometry geometryOf(const network::Conv2D& layer, const Shape& input) {
  auto vertical = network::paddingOf(layer.padding, input[0], layer.kernelSize.first, layer.strides.first);
  auto horizontal = network::paddingOf(layer.padding, input[1], layer.kernelSize.second, layer.strides.second);
  return {{layer.strides.first, layer.strides.second},
          {vertical.before, horizontal.before},
          {vertical.after, horizontal.after}};
}

// oneDNN has an implementation for any layouts, but it may be its plain loops, a thousand times slower than reordering
// to layouts it likes.
template <typename PrimitiveDesc>
bool isSlow(const PrimitiveDesc& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("ref");
}

// Bias and ReLU are part of the forward primitive. The parameters lie in the arena as [height, width, in, out] and are
// reordered to the primitive's layout at each pass, since the optimizer has changed them; they are small.
class Convolution final : public Step {
 public:
  Convolution(std::vector<Operation> forward, std::vector<Operation> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  void forward(const Pass& pass) override {
    for (const Operation& operation : forward_) operation.run(pass.stream);
  }
  void backward(const Pass& pass) override {
    for (const Operation& operation : backward_) operation.run(pass.stream);
  }

 private:
  std::vector<Operation> forward_, backward_;
};

class ConvolutionPlanner {
 public:
  ConvolutionPlanner(const network::Conv2D& layer, const network::Node& node, PlanBuilder& builder)
      : layer_(layer), node_(node), builder_(builder), geometry_(geometryOf(layer, node.input)) {
    Dims dims = {layer.filters, node.input[2], layer.kernelSize.first, layer.kernelSize.second};
    anyKernel_ = {dims, DataType::f32, Tag::any};
    kernel_ = {dims, DataType::f32, Tag::hwio};
    if (layer.useBias) bias_ = {{layer.filters}, DataType::f32, Tag::a};
  }

  Edge plan(const Edge& given) {
    dnnl::primitive_attr attributes = builder_.attributes();
    if (layer_.activation == network::Function::kRelu) {
      dnnl::post_ops relu;
      relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      attributes.set_post_ops(relu);
    }
    dnnl::convolution_forward::primitive_desc desc(builder_.engine(), builder_.forwardKind(),
                                                   dnnl::algorithm::convolution_direct, builder_.image(node_.input),
                                                   anyKernel_, bias_, builder_.image(node_.output), geometry_.strides,
                                                   geometry_.paddingBefore, geometry_.paddingAfter, attributes);
    Edge input = builder_.reordered(given, desc.src_desc());
    Edge output = builder_.edge(node_.output, desc.dst_desc(), true);
    output.reluPending = layer_.activation == network::Function::kRelu;

    std::vector<Operation> forward, backward;
    Arguments arguments = {{DNNL_ARG_SRC, input.value},
                           {DNNL_ARG_WEIGHTS, kernelAs(desc.weights_desc(), Phase::kForward, forward)},
                           {DNNL_ARG_DST, output.value}};
    if (layer_.useBias) arguments.emplace_back(DNNL_ARG_BIAS, builder_.parameter(node_, 1, bias_));
    forward.push_back(builder_.operation(Phase::kForward, desc, std::move(arguments)));
    if (builder_.options().training) {
      planWeightGradient(input, output, desc, backward);
      if (input.gradient) planInputGradient(input, output, desc, backward);
    }
    builder_.add(std::make_unique<Convolution>(std::move(forward), std::move(backward)), &node_);
    return output;
  }

 private:
  dnnl::memory kernelAs(const dnnl::memory::desc& desc, Phase phase, std::vector<Operation>& operations) {
    return builder_.as(desc, builder_.parameter(node_, 0, kernel_), phase, operations);
  }

  using WeightGradient = dnnl::convolution_backward_weights::primitive_desc;
  using InputGradient = dnnl::convolution_backward_data::primitive_desc;
  using Forward = dnnl::convolution_forward::primitive_desc;

  WeightGradient weightGradient(const dnnl::memory::desc& input, const dnnl::memory::desc& output,
                                const Forward& forward) {
    return {builder_.engine(),
            dnnl::algorithm::convolution_direct,
            input,
            anyKernel_,
            bias_,
            output,
            geometry_.strides,
            geometry_.paddingBefore,
            geometry_.paddingAfter,
            forward,
            builder_.attributes()};
  }

  InputGradient inputGradient(const dnnl::memory::desc& input, const dnnl::memory::desc& output,
                              const Forward& forward) {
    return {builder_.engine(),
            dnnl::algorithm::convolution_direct,
            input,
            anyKernel_,
            output,
            geometry_.strides,
            geometry_.paddingBefore,
            geometry_.paddingAfter,
            forward,
            builder_.attributes()};
  }

  void planWeightGradient(const Edge& input, const Edge& output, const Forward& forward,
                          std::vector<Operation>& operations) {
    WeightGradient desc = weightGradient(input.value.get_desc(), output.gradient.get_desc(), forward);
    if (isSlow(desc)) desc = weightGradient(builder_.image(node_.input), builder_.image(node_.output), forward);
    dnnl::memory kernelGradient = builder_.gradient(node_, 0, kernel_), own = kernelGradient;
    if (desc.diff_weights_desc() != kernel_) own = builder_.buffers().add(desc.diff_weights_desc());
    Arguments arguments = {
        {DNNL_ARG_SRC, builder_.as(desc.src_desc(), input.value, Phase::kBackward, operations)},
        {DNNL_ARG_DIFF_DST, builder_.as(desc.diff_dst_desc(), output.gradient, Phase::kBackward, operations)},
        {DNNL_ARG_DIFF_WEIGHTS, own}};
    if (layer_.useBias) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, builder_.gradient(node_, 1, bias_));
    operations.push_back(builder_.operation(Phase::kBackward, desc, std::move(arguments)));
    if (own != kernelGradient) operations.push_back(builder_.reorder(Phase::kBackward, own, kernelGradient));
  }

  void planInputGradient(const Edge& input, const Edge& output, const Forward& forward,
                         std::vector<Operation>& operations) {
    InputGradient desc = inputGradient(input.gradient.get_desc(), output.gradient.get_desc(), forward);
    if (isSlow(desc)) desc = inputGradient(builder_.image(node_.input), builder_.image(node_.output), forward);
    dnnl::memory own = input.gradient;
    if (desc.diff_src_desc() != input.gradient.get_desc()) own = builder_.buffers().add(desc.diff_src_desc());
    Arguments arguments = {
        {DNNL_ARG_DIFF_DST, builder_.as(desc.diff_dst_desc(), output.gradient, Phase::kBackward, operations)},
        {DNNL_ARG_WEIGHTS, kernelAs(desc.weights_desc(), Phase::kBackward, operations)},
        {DNNL_ARG_DIFF_SRC, own}};
    operations.push_back(builder_.operation(Phase::kBackward, desc, std::move(arguments)));
    if (own != input.gradient) operations.push_back(builder_.reorder(Phase::kBackward, own, input.gradient));
  }

  const network::Conv2D& layer_;
  const network::Node& node_;
  PlanBuilder& builder_;
  Geometry geometry_;
  dnnl::memory::desc anyKernel_, kernel_, bias_;  // bias_ stays empty without a bias
};

}  // namespace

Edge planLayer(const network::Conv2D& layer, const network::Node& node, const Edge& input, PlanBuilder& builder) {
  return ConvolutionPlanner(layer, node, builder).plan(builder.settled(input));
}

}  // namespace bloomery::nn
