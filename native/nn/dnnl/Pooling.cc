#include "nn/dnnl/Geometry.h"
#include "nn/dnnl/LayerPlans.h"

namespace bloomery::nn {

namespace {

class PoolingStep final : public Step {
 public:
  PoolingStep(Operation forward, std::vector<Operation> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  void forward(const Pass& pass) override { forward_.run(pass.stream); }
  void backward(const Pass& pass) override {
    for (const Operation& operation : backward_) operation.run(pass.stream);
  }

 private:
  Operation forward_;
  std::vector<Operation> backward_;
};

// The one pixel of a global pooling as (channels,).
Edge flattened(const Edge& image, PlanBuilder& builder) {
  Shape pixel{1, 1, image.shape[0]};
  Edge edge = builder.reordered(image, builder.canonical(pixel));
  dnnl::memory::desc flat = builder.canonical(image.shape);
  edge.value = builder.buffers().alias(edge.value, flat);
  if (edge.gradient) edge.gradient = builder.buffers().alias(edge.gradient, flat);
  return edge;
}

}  // namespace

Edge planLayer(const network::Pooling& layer, const Site& site, PlanBuilder& builder) {
  using Dims = dnnl::memory::dims;
  const network::Node& node = site.node;
  // The ReLU commutes with the maximum only.
  Edge input = layer.maximum ? site.input() : builder.settled(site.input());
  Shape image = network::imageOf(node.input);
  auto vertical = network::paddingOf(layer.padding, image[0], layer.poolSize.first, layer.strides.first);
  auto horizontal = network::paddingOf(layer.padding, image[1], layer.poolSize.second, layer.strides.second);
  Dims strides = {layer.strides.first, layer.strides.second}, window = {layer.poolSize.first, layer.poolSize.second};
  Dims before = {vertical.before, horizontal.before}, after = {vertical.after, horizontal.after}, dilation = {0, 0};
  if (site.zeros != nullptr) widen(*site.zeros, before, after);
  auto algorithm = layer.maximum ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding;

  dnnl::pooling_forward::primitive_desc forwardDesc(builder.engine(), builder.forwardKind(), algorithm,
                                                    input.value.get_desc(), builder.image(node.output), strides, window,
                                                    dilation, before, after, builder.attributes());
  Edge output = builder.edge(node.output, forwardDesc.dst_desc(), static_cast<bool>(input.gradient));
  output.gradientIsOnlyRead = true;
  output.reluPending = input.reluPending;  // the largest of a window is cut off exactly when all of it is

  Arguments arguments = {{DNNL_ARG_SRC, input.value}, {DNNL_ARG_DST, output.value}};
  dnnl::memory workspace;
  if (builder.options().training && layer.maximum) {
    workspace = builder.buffers().add(forwardDesc.workspace_desc());
    arguments.emplace_back(DNNL_ARG_WORKSPACE, workspace);
  }
  Operation forward = builder.operation(Phase::kForward, forwardDesc, std::move(arguments));

  std::vector<Operation> backward;
  if (input.gradient) {
    dnnl::pooling_backward::primitive_desc backwardDesc(builder.engine(), algorithm, input.gradient.get_desc(),
                                                        output.gradient.get_desc(), strides, window, dilation, before,
                                                        after, forwardDesc, builder.attributes());
    Arguments given = {{DNNL_ARG_DIFF_DST, output.gradient}, {DNNL_ARG_DIFF_SRC, input.gradient}};
    if (workspace) given.emplace_back(DNNL_ARG_WORKSPACE, workspace);
    backward.push_back(builder.operation(Phase::kBackward, backwardDesc, std::move(given)));
  }
  builder.add(std::make_unique<PoolingStep>(std::move(forward), std::move(backward)));
  return layer.global ? flattened(output, builder) : output;
}

}  // namespace bloomery::nn
