#include "onnx/LayerNodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/Error.h"

namespace bloomery::onnx {

namespace {

using network::Function;

int64_t castTo(ElementType type) { return static_cast<int64_t>(type); }

// [height, width, in, out] as [out, in, height, width]; a kernel of sequences has no height.
FloatTensor convolutionKernel(const network::Convolution& layer, const TensorView& kernel) {
  auto [height, width] = layer.kernelSize;
  int64_t area = height * width, outputs = kernel.shape.extents().back();
  int64_t inputs = kernel.numElements() / area / outputs;
  // Depthwise, the outputs of a channel stand behind those of the channel before, each with one input.
  if (layer.depthwise()) outputs *= std::exchange(inputs, 1);
  FloatTensor result{layer.rank == 1 ? Shape{outputs, inputs, width} : Shape{outputs, inputs, height, width}, {}};
  result.values.resize(static_cast<size_t>(kernel.numElements()));
  for (int64_t place = 0; place < area; ++place) {
    for (int64_t input = 0; input < inputs; ++input) {
      for (int64_t output = 0; output < outputs; ++output) {
        result.values[static_cast<size_t>((output * inputs + input) * area + place)] =
            kernel.data[(place * inputs + input) * outputs + output];
      }
    }
  }
  return result;
}

// Of each axis where a window starts, then of each where it ends.
std::vector<int64_t> paddings(int rank, network::Padding padding, const Shape& image, network::Pair window,
                              network::Pair strides, network::Pair dilation) {
  network::AxisPadding vertical = network::paddingOf(padding, image[0], window.first, strides.first, dilation.first);
  network::AxisPadding horizontal =
      network::paddingOf(padding, image[1], window.second, strides.second, dilation.second);
  if (rank == 1) return {horizontal.before, horizontal.after};
  return {vertical.before, horizontal.before, vertical.after, horizontal.after};
}

std::vector<int64_t> ofRank(int rank, network::Pair pair) {
  if (rank == 1) return {pair.second};
  return {pair.first, pair.second};
}

std::string withRelu(Function activation, std::string value, const Site& site) {
  return activation == Function::kRelu ? site.add("Relu", {value}) : value;
}

Edge write(const network::Convolution& layer, const Site& site) {
  int64_t channels = site.node.input.extents().back();
  Names inputs = {site.input(Order::kChannelsFirst),
                  site.parameter(0, [&](const TensorView& kernel) { return convolutionKernel(layer, kernel); })};
  if (layer.weights.useBias) inputs.push_back(site.parameter(1));
  Shape image = network::imageOf(site.node.input);
  std::string value =
      site.add("Conv", inputs,
               {{"kernel_shape", ofRank(layer.rank, layer.kernelSize)},
                {"strides", ofRank(layer.rank, layer.strides)},
                {"dilations", ofRank(layer.rank, layer.dilation)},
                {"pads", paddings(layer.rank, layer.padding, image, layer.kernelSize, layer.strides, layer.dilation)},
                {"group", layer.groupsFor(channels)}});
  return site.edge(Order::kChannelsFirst, withRelu(layer.activation, value, site));
}

Edge write(const network::Pooling& layer, const Site& site) {
  const std::string& input = site.input(Order::kChannelsFirst);
  if (layer.global) {
    std::string pooled = site.add(layer.maximum ? "GlobalMaxPool" : "GlobalAveragePool", {input});
    return site.edge(Order::kChannelsLast, site.add("Flatten", {pooled}, {{"axis", int64_t{1}}}));
  }
  Shape image = network::imageOf(site.node.input);
  Attributes attributes = {{"kernel_shape", ofRank(layer.rank, layer.poolSize)},
                           {"strides", ofRank(layer.rank, layer.strides)},
                           {"pads", paddings(layer.rank, layer.padding, image, layer.poolSize, layer.strides, {1, 1})}};
  if (!layer.maximum) attributes.push_back({"count_include_pad", int64_t{0}});
  return site.edge(Order::kChannelsFirst, site.add(layer.maximum ? "MaxPool" : "AveragePool", {input}, attributes));
}

std::string filled(const Site& site, const char* name, float value) {
  int64_t size = site.node.input.extents().back();
  std::vector<float> values(static_cast<size_t>(size), value);
  return site.model.addFloats(site.node.name + "/" + name, {size}, values);
}

Edge write(const network::BatchNormalization& layer, const Site& site) {
  size_t next = 0;
  std::string gamma = layer.scale ? site.parameter(next++) : filled(site, "gamma", 1);
  std::string beta = layer.center ? site.parameter(next++) : filled(site, "beta", 0);
  std::string value =
      site.add("BatchNormalization",
               {site.input(Order::kChannelsFirst), gamma, beta, site.parameter(next), site.parameter(next + 1)},
               {{"epsilon", static_cast<float>(layer.epsilon)}});
  return site.edge(Order::kChannelsFirst, value);
}

Edge write(const network::LayerNormalization& layer, const Site& site) {
  size_t next = 0;
  Names inputs = {site.input(Order::kChannelsLast)};
  inputs.push_back(layer.scale ? site.parameter(next++) : filled(site, "gamma", 1));
  if (layer.center) inputs.push_back(site.parameter(next));
  std::string value =
      site.add("LayerNormalization", inputs, {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(layer.epsilon)}});
  return site.edge(Order::kChannelsLast, value);
}

// What has no variance is divided by 1.
Edge write(const network::Normalization&, const Site& site) {
  auto deviations = [](const TensorView& variances) {
    FloatTensor result{variances.shape, {}};
    for (float variance : variances.span()) {
      result.values.push_back(variance < std::numeric_limits<float>::min() ? 1.0f : std::sqrt(variance));
    }
    return result;
  };
  std::string centered = site.add("Sub", {site.input(Order::kChannelsLast), site.parameter(0)});
  return site.edge(Order::kChannelsLast, site.add("Div", {centered, site.parameter(1, deviations)}));
}

Edge write(const network::Dropout&, const Site& site) { return *site.inputs[0]; }

Edge reshaped(const Site& site) {
  if (site.node.output == site.node.input) return *site.inputs[0];
  std::vector<int64_t> extents = site.node.output.extents();
  extents.insert(extents.begin(), 0);  // the batch stays
  return site.edge(Order::kChannelsLast,
                   site.add("Reshape", {site.input(Order::kChannelsLast), site.integers("shape", extents)}));
}

Edge write(const network::Flatten&, const Site& site) { return reshaped(site); }
Edge write(const network::Reshape&, const Site& site) { return reshaped(site); }

Edge write(const network::ZeroPadding& layer, const Site& site) {
  std::string pads = site.integers("pads", {0, 0, layer.vertical.first, layer.horizontal.first, 0, 0,
                                            layer.vertical.second, layer.horizontal.second});
  return site.edge(Order::kChannelsFirst, site.add("Pad", {site.input(Order::kChannelsFirst), pads}));
}

Edge write(const network::Rescaling& layer, const Site& site) {
  Order order = site.inputs[0]->made;
  std::string scaled = site.add("Mul", {site.input(order), site.number("scale", layer.scale)});
  return site.edge(order, site.add("Add", {scaled, site.number("offset", layer.offset)}));
}

Edge write(const network::Dense& layer, const Site& site) {
  const std::string& input = site.input(Order::kChannelsLast);
  bool bias = layer.weights.useBias;
  std::string value;
  if (site.node.input.rank() == 1) {
    Names inputs = {input, site.parameter(0)};
    if (bias) inputs.push_back(site.parameter(1));
    value = site.add("Gemm", inputs);
  } else {
    value = site.add("MatMul", {input, site.parameter(0)});
    if (bias) value = site.add("Add", {value, site.parameter(1)});
  }
  return site.edge(Order::kChannelsLast, withRelu(layer.activation, value, site));
}

std::string activated(const network::Activation& layer, const std::string& input, const Site& site) {
  float slope = static_cast<float>(layer.slope);
  switch (layer.function) {
    case Function::kLinear:
      return input;
    case Function::kRelu:
      return site.add("Relu", {input});
    case Function::kLeakyRelu:
      return site.add("LeakyRelu", {input}, {{"alpha", slope}});
    case Function::kElu:
      return site.add("Elu", {input}, {{"alpha", slope}});
    case Function::kGelu: {  // x / 2 * (1 + erf(x / sqrt(2)))
      std::string error = site.add("Erf", {site.add("Mul", {input, site.number("root", 1 / std::numbers::sqrt2)})});
      std::string share = site.add("Add", {error, site.number("one", 1)});
      return site.add("Mul", {site.add("Mul", {input, site.number("half", 0.5)}), share});
    }
    case Function::kSilu:
      return site.add("Mul", {input, site.add("Sigmoid", {input})});
    case Function::kSigmoid:
      return site.add("Sigmoid", {input});
    case Function::kTanh:
      return site.add("Tanh", {input});
    case Function::kSoftplus:
      return site.add("Softplus", {input});
    case Function::kSoftmax:
      return site.add("Softmax", {input}, {{"axis", int64_t{-1}}});
  }
  throw InternalError(message("Unknown function: ", static_cast<int>(layer.function)));
}

Edge write(const network::Activation& layer, const Site& site) {
  if (layer.function == Function::kLinear) return *site.inputs[0];
  Order order = layer.function == Function::kSoftmax ? Order::kChannelsLast : site.inputs[0]->made;
  return site.edge(order, activated(layer, site.input(order), site));
}

Edge write(const network::Embedding& layer, const Site& site) {
  const std::string& given = site.inputs[0]->raw.empty() ? site.input(Order::kChannelsLast) : site.inputs[0]->raw;
  std::string indices = site.add("Cast", {given}, {{"to", castTo(ElementType::kInt64)}});
  Edge edge = site.edge(Order::kChannelsLast, site.add("Gather", {site.parameter(0), indices}));
  if (layer.maskZero) edge.mask = site.add("Cast", {indices}, {{"to", castTo(ElementType::kBool)}});
  return edge;
}

Edge write(const network::Recurrent& layer, const Site& site) { return writeRecurrent(layer, site); }

Edge write(const network::Merge& layer, const Site& site) {
  bool first = std::all_of(site.inputs.begin(), site.inputs.end(),
                           [](const Edge* input) { return !input->channelsFirst.empty(); });
  Order order = first ? Order::kChannelsFirst : Order::kChannelsLast;
  Names inputs;
  for (size_t i = 0; i < site.inputs.size(); ++i) inputs.push_back(site.input(order, i));
  if (layer.how == network::Merge::How::kConcatenate) {
    return site.edge(order, site.add("Concat", inputs, {{"axis", int64_t{first ? 1 : -1}}}));
  }
  std::string value = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    value = site.add(layer.how == network::Merge::How::kAdd ? "Add" : "Mul", {value, inputs[i]});
  }
  return site.edge(order, value);
}

Edge write(const network::Input&, const Site&) { throw InternalError("An Input is written with the model's inputs"); }

}  // namespace

std::string Constants::name(size_t index, ModelBuilder& model,
                            const std::function<FloatTensor(const TensorView&)>& change) {
  auto [found, isNew] = names_.try_emplace(index);
  if (!isNew) return found->second;
  TensorView values = parameter(index);
  const std::string& wish = layout_.slices()[index].name;
  if (change) {
    FloatTensor changed = change(values);
    return found->second = model.addFloats(wish, changed.shape, changed.values);
  }
  return found->second = model.addFloats(wish, values.shape, values.span());
}

const std::string& inOrder(Edge& edge, Order order, const std::string& layer, ModelBuilder& model) {
  std::string& wanted = order == Order::kChannelsLast ? edge.channelsLast : edge.channelsFirst;
  if (!wanted.empty()) return wanted;
  int64_t rank = static_cast<int64_t>(edge.shape.rank());
  std::vector<int64_t> axes(static_cast<size_t>(rank) + 1);  // with the batch, which stays
  std::iota(axes.begin(), axes.end(), 0);
  if (order == Order::kChannelsLast) {
    std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
    wanted = model.add(layer, "Transpose", {edge.channelsFirst}, {{"perm", axes}});
  } else {
    std::rotate(axes.begin() + 1, axes.end() - 1, axes.end());
    wanted = model.add(layer, "Transpose", {edge.channelsLast}, {{"perm", axes}});
  }
  return wanted;
}

const std::string& Site::input(Order order, size_t index) const {
  return inOrder(*inputs[index], order, node.name, model);
}

Edge Site::edge(Order order, std::string name) const {
  Edge edge{.shape = node.output, .made = order};
  bool both = node.output.rank() < 2;  // with a single axis the two are one
  if (both || order == Order::kChannelsLast) edge.channelsLast = name;
  if (both || order == Order::kChannelsFirst) edge.channelsFirst = name;
  return edge;
}

std::string Site::number(const char* name, double value) const {
  float number = static_cast<float>(value);
  return model.addFloats(node.name + "/" + name, Shape{}, std::span(&number, 1));
}

std::string Site::integers(const char* name, const std::vector<int64_t>& values) const {
  return model.addIntegers(node.name + "/" + name, values);
}

Edge writeInput(const network::Input& layer, const std::string& given, const Site& site) {
  std::string value = given;
  if (layer.dtype != DType::kFloat32) value = site.add("Cast", {value}, {{"to", castTo(ElementType::kFloat)}});
  bool scaled = layer.scale != 1.0;
  if (scaled) value = site.add("Mul", {value, site.number("scale", layer.scale)});
  Edge edge = site.edge(Order::kChannelsLast, value);
  if (!scaled) edge.raw = given;
  return edge;
}

Edge writeLayer(const network::Layer& layer, const Site& site) {
  return std::visit([&](const auto& any) { return write(any, site); }, layer);
}

}  // namespace bloomery::onnx
