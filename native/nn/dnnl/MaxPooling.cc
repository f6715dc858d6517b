#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

class MaxPooling final : public Step {
 public:
  MaxPooling(Operation forward, std::vector<Operation> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  void forward(const Pass& pass) override { forward_.run(pass.stream); }
  void backward(const Pass& pass) override {
    for (const Operation& operation : backward_) operation.run(pass.stream);
  }

 private:
  Operation forward_;
  std::vector<Operation> backward_;
};

}  // namespace

Edge planLayer(const network::MaxPool2D& layer, const network::Node& node, const Edge& input, PlanBuilder& builder) {
  using Dims = dnnl::memory::dims;
  auto vertical = network::paddingOf(layer.padding, node.input[0], layer.poolSize.first, layer.strides.first);
  auto horizontal = network::paddingOf(layer.padding, node.input[1], layer.poolSize.second, layer.strides.second);
  Dims strides = {layer.strides.first, layer.strides.second}, window = {layer.poolSize.first, layer.poolSize.second};
  Dims before = {vertical.before, horizontal.before}, after = {vertical.after, horizontal.after}, dilation = {0, 0};
  constexpr auto kMax = dnnl::algorithm::pooling_max;

  dnnl::pooling_forward::primitive_desc forwardDesc(builder.engine(), builder.forwardKind(), kMax,
                                                    input.value.get_desc(), builder.image(node.output), strides, window,
                                                    dilation, before, after, builder.attributes());
  Edge output = builder.edge(node.output, forwardDesc.dst_desc(), static_cast<bool>(input.gradient));
  output.reluPending = input.reluPending;  // the largest of a window is cut off exactly when all of it is

  Arguments arguments = {{DNNL_ARG_SRC, input.value}, {DNNL_ARG_DST, output.value}};
  dnnl::memory workspace;
  if (builder.options().training) {
    workspace = builder.buffers().add(forwardDesc.workspace_desc());
    arguments.emplace_back(DNNL_ARG_WORKSPACE, workspace);
  }
  Operation forward = builder.operation(Phase::kForward, forwardDesc, std::move(arguments));

  std::vector<Operation> backward;
  if (input.gradient) {
    dnnl::pooling_backward::primitive_desc backwardDesc(builder.engine(), kMax, input.gradient.get_desc(),
                                                        output.gradient.get_desc(), strides, window, dilation, before,
                                                        after, forwardDesc, builder.attributes());
    backward.push_back(builder.operation(
        Phase::kBackward, backwardDesc,
        {{DNNL_ARG_DIFF_DST, output.gradient}, {DNNL_ARG_WORKSPACE, workspace}, {DNNL_ARG_DIFF_SRC, input.gradient}}));
  }
  builder.add(std::make_unique<MaxPooling>(std::move(forward), std::move(backward)));
  return output;
}

}  // namespace bloomery::nn
