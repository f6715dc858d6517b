#include <optional>

#include "nn/dnnl/Geometry.h"
#include "nn/dnnl/LayerPlans.h"
#include "nn/kernels/MaxPool.h"

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

// Maxima of windows that do not overlap, by our own kernel: in training, where backward is what counts.
class MaxPoolStep final : public Step {
 public:
  MaxPoolStep(const MaxPool& shape, const Edge& input, const Edge& output, PlanBuilder& builder)
      : shape_(shape),
        input_(input.value),
        inputGradient_(input.gradient),
        output_(output.value),
        outputGradient_(output.gradient),
        places_(
            builder.buffers().add({{shape.placesSize()}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::a})) {
    for (const dnnl::memory& memory : {input_, output_, places_}) builder.use(Phase::kForward, memory);
    for (const dnnl::memory& memory : {inputGradient_, outputGradient_, places_}) {
      builder.use(Phase::kBackward, memory);
    }
  }
  void forward(const Pass&) override { maxPool(shape_, dataOf(input_), dataOf(output_), places()); }
  void backward(const Pass&) override {
    maxPoolGradient(shape_, dataOf(outputGradient_), places(), dataOf(inputGradient_));
  }

 private:
  uint8_t* places() const { return static_cast<uint8_t*>(places_.get_data_handle()); }

  MaxPool shape_;
  dnnl::memory input_, inputGradient_, output_, outputGradient_, places_;
};

// Empty where the kernel does not apply.
std::optional<MaxPool> maxPoolOf(const network::Pooling& layer, const Edge& input, const Edge& output,
                                 bool reachesOverEdge, const PlanBuilder& builder) {
  auto [height, width] = layer.poolSize;
  if (!layer.maximum || !input.gradient || reachesOverEdge) return {};
  if (layer.strides != layer.poolSize || height * width > kMaxPoolWindow) return {};
  int64_t inputBlock = builder.channelBlock(input.value.get_desc());
  int64_t outputBlock = builder.channelBlock(output.value.get_desc());
  if (inputBlock == 0 || outputBlock == 0) return {};
  dnnl::memory::dims from = input.value.get_desc().get_dims(), to = output.value.get_desc().get_dims();
  return MaxPool{from[0], from[1], from[2], from[3], height, width, inputBlock, outputBlock, to[2], to[3]};
}

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

  bool reachesOverEdge = before != Dims{0, 0} || after != Dims{0, 0};
  if (auto maxPool = maxPoolOf(layer, input, output, reachesOverEdge, builder)) {
    builder.add(std::make_unique<MaxPoolStep>(*maxPool, input, output, builder));
    return layer.global ? flattened(output, builder) : output;
  }

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
