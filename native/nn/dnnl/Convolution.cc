#include <omp.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/Simd.h"
#include "nn/dnnl/Geometry.h"
#include "nn/dnnl/LayerPlans.h"
#include "nn/dnnl/WinogradStep.h"
#include "nn/kernels/ThinConvolution.h"

namespace bloomery::nn {

namespace {

using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

// oneDNN has an implementation for any layouts, but it may be its plain loops, a thousand times slower than reordering
// to layouts it likes.
template <typename PrimitiveDesc>
bool isSlow(const PrimitiveDesc& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("ref");
}

// Bias and ReLU are part of the forward primitive. The parameters lie in the arena as [height, width, in, out] and are
// reordered to the primitive's layout at each pass, since the optimizer has changed them; they are small.
class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(std::vector<Operation> forward, std::vector<Operation> kernelGradient,
                  std::vector<Operation> inputGradient)
      : forward_(std::move(forward)),
        kernelGradient_(std::move(kernelGradient)),
        inputGradient_(std::move(inputGradient)) {}
  void forward(const Pass& pass) override {
    for (const Operation& operation : forward_) operation.run(pass.stream);
  }
  void backward(const Pass& pass) override {
    for (const Operation& operation : kernelGradient_) operation.run(pass.stream);
  }
  void backwardInput(const Pass& pass) override {
    for (const Operation& operation : inputGradient_) operation.run(pass.stream);
  }

 private:
  std::vector<Operation> forward_, kernelGradient_, inputGradient_;
};

// The first layer, whose image has few channels and needs no gradient: the weight gradient is our own kernel, which
// does the backward half of the ReLU too. In mnist-cnn at batch 96 on one thread it takes 2.1 ms, as long as reading
// the memory; oneDNN takes 2.3 with AVX-512 and 6.4 ms with AVX2, ReLU included.
class ThinFirstConvolution final : public Step {
 public:
  ThinFirstConvolution(std::vector<Operation> forward, const ThinConvolution& shape, const Edge& input,
                       const Edge& output, bool relu, dnnl::memory kernelGradient, dnnl::memory biasGradient,
                       PlanBuilder& builder)
      : forward_(std::move(forward)),
        shape_(shape),
        relu_(relu),
        image_(input.value),
        output_(output.value),
        outputGradient_(output.gradient),
        kernelGradient_(std::move(kernelGradient)),
        biasGradient_(std::move(biasGradient)),
        scratch_(builder.buffers().add({{shape.scratchSize()}, DataType::f32, Tag::a})) {
    for (const dnnl::memory& memory : {image_, outputGradient_, scratch_}) builder.use(Phase::kBackward, memory);
    if (relu_) builder.use(Phase::kBackward, output_);
  }

  void forward(const Pass& pass) override {
    for (const Operation& operation : forward_) operation.run(pass.stream);
  }

  void backward(const Pass&) override {
    thinWeightGradient(shape_, dataOf(image_), dataOf(outputGradient_), relu_ ? dataOf(output_) : nullptr,
                       dataOf(kernelGradient_), biasGradient_ ? dataOf(biasGradient_) : nullptr, dataOf(scratch_));
  }

 private:
  std::vector<Operation> forward_;
  ThinConvolution shape_;
  bool relu_;
  dnnl::memory image_, output_, outputGradient_, kernelGradient_, biasGradient_, scratch_;
};

class ConvolutionPlanner {
 public:
  ConvolutionPlanner(const network::Convolution& layer, const Site& site, PlanBuilder& builder)
      : layer_(layer),
        node_(site.node),
        relu_(site.relu),
        builder_(builder),
        input_(site.input().shape),
        image_(network::imageOf(input_)),
        outputImage_(network::imageOf(site.node.output)),
        groups_(layer.groupsFor(image_[2])),
        geometry_(geometryOf(layer, network::imageOf(site.node.input))),
        ending_(planEnding(site, {{1, outputImage_[2], 1, 1}, DataType::f32, Tag::nchw}, builder)) {
    if (site.zeros != nullptr) widen(*site.zeros, geometry_.paddingBefore, geometry_.paddingAfter);
    int64_t filters = outputImage_[2];
    Dims dims = {filters / groups_, image_[2] / groups_, layer.kernelSize.first, layer.kernelSize.second};
    if (groups_ > 1) dims.insert(dims.begin(), groups_);
    anyKernel_ = {dims, DataType::f32, Tag::any};
    kernel_ = {dims, DataType::f32, groups_ > 1 ? Tag::hwigo : Tag::hwio};
    if (layer.weights.useBias) bias_ = {{filters}, DataType::f32, Tag::a};
  }

  Edge plan(const Edge& given) {
    dnnl::primitive_attr attributes = builder_.attributes();
    attributes.set_post_ops(ending_.operations);
    dnnl::convolution_forward::primitive_desc desc(
        builder_.engine(), builder_.forwardKind(), dnnl::algorithm::convolution_direct, builder_.image(input_),
        anyKernel_, bias_, builder_.image(node_.output), geometry_.strides, geometry_.dilation, geometry_.paddingBefore,
        geometry_.paddingAfter, attributes);
    Edge input = builder_.reordered(given, desc.src_desc());
    Edge output =
        builder_.edge(node_.output, desc.dst_desc(), builder_.trains(node_) || static_cast<bool>(input.gradient));
    output.reluPending = relu_;
    output.gradientIsOnlyRead = true;

    if (std::optional<WinogradConvolution> winograd = winogradShape(input, output); winograd) {
      builder_.add(makeWinogradStep(winogradPlan(*winograd, input, output), builder_), &node_);
      return output;
    }
    std::vector<Operation> forward, forKernel, forInput;
    Arguments arguments = {{DNNL_ARG_SRC, input.value},
                           {DNNL_ARG_WEIGHTS, kernelAs(desc.weights_desc(), Phase::kForward, forward)},
                           {DNNL_ARG_DST, output.value}};
    if (layer_.weights.useBias) arguments.emplace_back(DNNL_ARG_BIAS, builder_.parameter(node_, 1, bias_));
    arguments.insert(arguments.end(), ending_.arguments.begin(), ending_.arguments.end());
    forward.push_back(builder_.operation(Phase::kForward, desc, std::move(arguments)));
    if (std::optional<ThinConvolution> thin = thinShape(given, output); thin) {
      // The kernel reads the image as it was given: forward may have wanted a copy in another layout.
      builder_.add(std::make_unique<ThinFirstConvolution>(
                       std::move(forward), *thin, given, output, relu_, builder_.gradient(node_, 0, kernel_),
                       layer_.weights.useBias ? builder_.gradient(node_, 1, bias_) : dnnl::memory(), builder_),
                   &node_);
      output.reluPending = false;
      return output;
    }
    if (builder_.trains(node_)) planWeightGradient(input, output, desc, forKernel);
    if (input.gradient) planInputGradient(input, output, desc, forInput);
    builder_.add(std::make_unique<ConvolutionStep>(std::move(forward), std::move(forKernel), std::move(forInput)),
                 &node_);
    return output;
  }

 private:
  // The shape for our own kernel, where it is the better one.
  std::optional<ThinConvolution> thinShape(const Edge& input, const Edge& output) const {
    constexpr int64_t kFewChannels = 4;
    if (!builder_.trains(node_) || input.gradient || image_[2] > kFewChannels || groups_ > 1 ||
        layer_.dilation != network::Pair{1, 1} || simdLevel() != SimdLevel::kAvx2 ||
        input.value.get_desc() != builder_.canonical(input_)) {
      return std::nullopt;
    }
    int64_t block = builder_.channelBlock(output.value.get_desc());
    if (block == 0) return std::nullopt;
    return ThinConvolution{.batch = builder_.options().batchSize,
                           .height = image_[0],
                           .width = image_[1],
                           .channels = image_[2],
                           .outputHeight = outputImage_[0],
                           .outputWidth = outputImage_[1],
                           .filters = outputImage_[2],
                           .block = block,
                           .kernelHeight = layer_.kernelSize.first,
                           .kernelWidth = layer_.kernelSize.second,
                           .strideHeight = layer_.strides.first,
                           .strideWidth = layer_.strides.second,
                           .paddingTop = geometry_.paddingBefore[0],
                           .paddingLeft = geometry_.paddingBefore[1],
                           .numThreads = omp_get_max_threads()};
  }

  // The same for convolutions of 3x3 taps. The batch has no say: predictions must not depend on it.
  std::optional<WinogradConvolution> winogradShape(const Edge& input, const Edge& output) const {
    if (layer_.kernelSize != network::Pair{3, 3} || layer_.strides != network::Pair{1, 1} ||
        layer_.dilation != network::Pair{1, 1} || groups_ > 1 ||
        std::max(geometry_.paddingBefore[0], geometry_.paddingBefore[1]) > 2) {
      return std::nullopt;
    }
    WinogradConvolution shape{.batch = builder_.options().batchSize,
                              .height = image_[0],
                              .width = image_[1],
                              .channels = image_[2],
                              .outputHeight = outputImage_[0],
                              .outputWidth = outputImage_[1],
                              .filters = outputImage_[2],
                              .block = builder_.channelBlock(input.value.get_desc()),
                              .outputBlock = builder_.channelBlock(output.value.get_desc()),
                              .paddingTop = geometry_.paddingBefore[0],
                              .paddingLeft = geometry_.paddingBefore[1],
                              .numThreads = omp_get_max_threads()};
    return shape.pays() ? std::optional(shape) : std::nullopt;
  }

  WinogradPlan winogradPlan(const WinogradConvolution& shape, const Edge& input, const Edge& output) {
    WinogradPlan plan{.shape = shape,
                      .input = input,
                      .output = output,
                      .relu = relu_,
                      .kernel = builder_.parameter(node_, 0, kernel_)};
    if (layer_.weights.useBias) plan.bias = builder_.parameter(node_, 1, bias_);
    if (!ending_.arguments.empty()) {
      plan.scale = ending_.arguments[0].second;
      plan.shift = ending_.arguments[1].second;
    }
    if (!builder_.trains(node_)) return plan;
    plan.kernelGradient = builder_.gradient(node_, 0, kernel_);
    if (layer_.weights.useBias) plan.biasGradient = builder_.gradient(node_, 1, bias_);
    return plan;
  }

  dnnl::memory kernelAs(const dnnl::memory::desc& desc, Phase phase, std::vector<Operation>& operations) {
    return builder_.parameterAs(desc, builder_.parameter(node_, 0, kernel_), phase, operations);
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
            geometry_.dilation,
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
            geometry_.dilation,
            geometry_.paddingBefore,
            geometry_.paddingAfter,
            forward,
            builder_.attributes()};
  }

  void planWeightGradient(const Edge& input, const Edge& output, const Forward& forward,
                          std::vector<Operation>& operations) {
    WeightGradient desc = weightGradient(input.value.get_desc(), output.gradient.get_desc(), forward);
    if (isSlow(desc)) desc = weightGradient(builder_.image(input_), builder_.image(node_.output), forward);
    dnnl::memory kernelGradient = builder_.gradient(node_, 0, kernel_), own = kernelGradient;
    if (desc.diff_weights_desc() != kernel_) own = builder_.buffers().add(desc.diff_weights_desc());
    Arguments arguments = {
        {DNNL_ARG_SRC, builder_.as(desc.src_desc(), input.value, Phase::kBackward, operations)},
        {DNNL_ARG_DIFF_DST, builder_.as(desc.diff_dst_desc(), output.gradient, Phase::kBackward, operations)},
        {DNNL_ARG_DIFF_WEIGHTS, own}};
    if (layer_.weights.useBias) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, builder_.gradient(node_, 1, bias_));
    operations.push_back(builder_.operation(Phase::kBackward, desc, std::move(arguments)));
    if (own != kernelGradient) operations.push_back(builder_.reorder(Phase::kBackward, own, kernelGradient));
  }

  void planInputGradient(const Edge& input, const Edge& output, const Forward& forward,
                         std::vector<Operation>& operations) {
    InputGradient desc = inputGradient(input.gradient.get_desc(), output.gradient.get_desc(), forward);
    if (isSlow(desc)) desc = inputGradient(builder_.image(input_), builder_.image(node_.output), forward);
    dnnl::memory own = input.gradient;
    if (desc.diff_src_desc() != input.gradient.get_desc()) own = builder_.buffers().add(desc.diff_src_desc());
    Arguments arguments = {
        {DNNL_ARG_DIFF_DST, builder_.as(desc.diff_dst_desc(), output.gradient, Phase::kBackward, operations)},
        {DNNL_ARG_WEIGHTS, kernelAs(desc.weights_desc(), Phase::kBackward, operations)},
        {DNNL_ARG_DIFF_SRC, own}};
    operations.push_back(builder_.operation(Phase::kBackward, desc, std::move(arguments)));
    if (own != input.gradient) operations.push_back(builder_.reorder(Phase::kBackward, own, input.gradient));
  }

  const network::Convolution& layer_;
  const network::Node& node_;
  bool relu_;
  PlanBuilder& builder_;
  Shape input_, image_, outputImage_;  // input_: without zeros that a layer before would add
  int64_t groups_;
  ConvolutionGeometry geometry_;
  Ending ending_;
  dnnl::memory::desc anyKernel_, kernel_, bias_;  // bias_ stays empty without a bias
};

}  // namespace

Edge planLayer(const network::Convolution& layer, const Site& site, PlanBuilder& builder) {
  return ConvolutionPlanner(layer, site, builder).plan(builder.settled(site.input()));
}

}  // namespace bloomery::nn
