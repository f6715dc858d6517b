// What each layer kind makes of its input shapes, and the parameters it learns.
#include <algorithm>
#include <numeric>
#include <set>

#include "base/Error.h"
#include "network/Layers.h"

namespace bloomery::network {

namespace {

using Inputs = std::span<const Shape>;

constexpr double kMaxValues = 1e9;

Shape limited(Shape shape, const char* what) {
  double product = 1;
  for (int64_t extent : shape.extents()) product *= static_cast<double>(extent);
  if (product > kMaxValues) throw UserError(message(what, " ", shape.toString(), " holds more than 1e9 values"));
  return shape;
}

int64_t windowed(Padding padding, int64_t extent, int64_t window, int64_t stride, int64_t dilation, const char* what) {
  if (padding == Padding::kSame) return (extent + stride - 1) / stride;
  int64_t reach = (window - 1) * dilation + 1;
  if (extent < reach) throw UserError(message(what, " ", reach, " is larger than the input extent ", extent));
  return (extent - reach) / stride + 1;
}

void wantRank(const Shape& input, size_t rank) {
  const char* wanted[] = {"", "(features,)", "(steps, channels)", "(height, width, channels)"};
  if (input.rank() != rank) throw UserError(message("wants ", wanted[rank], ", gets ", input.toString()));
}

Shape withLast(const Shape& shape, int64_t last) {
  std::vector<int64_t> extents = shape.extents();
  extents.back() = last;
  return Shape(std::move(extents));
}

// The image of an output, as the shape of its rank.
Shape ofRank(int rank, int64_t height, int64_t width, int64_t channels) {
  return rank == 1 ? Shape{width, channels} : Shape{height, width, channels};
}

Shape declareLayer(Input& layer, const std::string&, Inputs, ParameterTable&) { return layer.shape; }

Shape declareLayer(Convolution& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  wantRank(inputs[0], static_cast<size_t>(layer.rank) + 1);
  Shape input = imageOf(inputs[0]);
  auto [kernelHeight, kernelWidth] = layer.kernelSize;
  int64_t channels = input[2], groups = layer.groupsFor(channels), filters = layer.filtersFor(channels);
  if (channels % groups != 0 || filters % groups != 0) {
    throw UserError(message("groups ", groups, " must divide the channels ", channels, " and the filters ", filters));
  }
  Shape kernel{kernelHeight, kernelWidth, channels / groups, filters};
  if (layer.depthwise()) kernel = {kernelHeight, kernelWidth, channels, layer.depthMultiplier};
  if (layer.rank == 1) kernel = {kernelWidth, channels / groups, filters};
  kernel = limited(std::move(kernel), "kernel");  // first: only then products of its extents can be computed
  int64_t area = kernelHeight * kernelWidth;
  int64_t fanIn = area * (layer.depthwise() ? channels : channels / groups);
  int64_t fanOut = area * (layer.depthwise() ? layer.depthMultiplier : filters);
  const Weights& weights = layer.weights;
  parameters.add({.name = name + "/kernel",
                  .shape = std::move(kernel),
                  .initializer = weights.kernelInitializer,
                  .fanIn = fanIn,
                  .fanOut = fanOut,
                  .regularizer = weights.kernelRegularizer});
  if (weights.useBias) {
    parameters.add({.name = name + "/bias",
                    .shape = Shape{filters},
                    .initializer = weights.biasInitializer,
                    .fanIn = filters,
                    .fanOut = filters,
                    .regularizer = weights.biasRegularizer});
  }
  int64_t height =
      windowed(layer.padding, input[0], kernelHeight, layer.strides.first, layer.dilation.first, "kernel height");
  int64_t width =
      windowed(layer.padding, input[1], kernelWidth, layer.strides.second, layer.dilation.second, "kernel width");
  return limited(ofRank(layer.rank, height, width, filters), "output");
}

Shape declareLayer(Pooling& layer, const std::string&, Inputs inputs, ParameterTable&) {
  wantRank(inputs[0], static_cast<size_t>(layer.rank) + 1);
  Shape input = imageOf(inputs[0]);
  if (layer.global) {
    layer.poolSize = layer.strides = {input[0], input[1]};
    return {input[2]};
  }
  int64_t height = windowed(layer.padding, input[0], layer.poolSize.first, layer.strides.first, 1, "pool height");
  int64_t width = windowed(layer.padding, input[1], layer.poolSize.second, layer.strides.second, 1, "pool width");
  return ofRank(layer.rank, height, width, input[2]);
}

// What both normalisations learn.
void addScaleAndCenter(bool scale, bool center, const std::string& name, int64_t size, ParameterTable& parameters) {
  if (scale) parameters.add({.name = name + "/gamma", .shape = Shape{size}, .initializer = Initializer::kOnes});
  if (center) parameters.add({.name = name + "/beta", .shape = Shape{size}, .initializer = Initializer::kZeros});
}

Shape declareLayer(BatchNormalization& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  int64_t channels = inputs[0].extents().back();
  addScaleAndCenter(layer.scale, layer.center, name, channels, parameters);
  auto statistic = [&](const char* what, Initializer initializer) {
    parameters.add({.name = name + what,
                    .shape = Shape{channels},
                    .initializer = initializer,
                    .trainable = false,
                    .runningMomentum = layer.momentum});
  };
  statistic("/moving_mean", Initializer::kZeros);
  statistic("/moving_variance", Initializer::kOnes);
  return inputs[0];
}

Shape declareLayer(LayerNormalization& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  addScaleAndCenter(layer.scale, layer.center, name, inputs[0].extents().back(), parameters);
  return inputs[0];
}

// Keras takes any axes; these are the last ones, for which a row is a whole number of statistics one after the other.
Shape declareLayer(Normalization& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  const Shape& input = inputs[0];
  int64_t rank = static_cast<int64_t>(input.rank());
  std::set<int64_t> axes;
  for (int64_t axis : layer.axes) axes.insert(axis < 0 ? axis + rank + 1 : axis);
  int64_t count = static_cast<int64_t>(axes.size()), first = rank + 1 - count;
  if (count > 0 && (first < 1 || *axes.begin() != first || *axes.rbegin() != rank)) {
    throw UserError(message("axis ", Shape(layer.axes).toString(),
                            " is not among those that it can have: -1, the last of ", input.toString(),
                            ", or several up to the last, without the batch, or [] for none"));
  }
  const std::vector<int64_t>& extents = input.extents();
  Shape shape = count == 0 ? Shape{1} : Shape(std::vector<int64_t>(extents.end() - count, extents.end()));
  layer.size = shape.numElements();
  auto statistic = [&](const char* what, std::vector<float>& given, Initializer initializer) {
    if (given.size() == 1) given.resize(static_cast<size_t>(layer.size), given[0]);
    if (!given.empty() && given.size() != static_cast<size_t>(layer.size)) {
      throw UserError(message(what, " has ", given.size(), " values, wanted one, or ", layer.size));
    }
    parameters.add(
        {.name = name + "/" + what, .shape = shape, .initializer = initializer, .trainable = false, .values = given});
  };
  statistic("mean", layer.mean, Initializer::kZeros);
  statistic("variance", layer.variance, Initializer::kOnes);
  return input;
}

Shape declareLayer(Dropout&, const std::string&, Inputs inputs, ParameterTable&) { return inputs[0]; }

Shape declareLayer(Flatten&, const std::string&, Inputs inputs, ParameterTable&) { return {inputs[0].numElements()}; }

Shape declareLayer(Reshape& layer, const std::string&, Inputs inputs, ParameterTable&) {
  std::vector<int64_t> extents = layer.target.extents();
  int64_t known = 1, size = inputs[0].numElements();
  for (int64_t extent : extents) {
    if (extent > 0 && known <= size) known *= extent;
  }
  for (int64_t& extent : extents) {
    if (extent < 0) extent = known > 0 && size % known == 0 ? size / known : 0;
  }
  Shape target(std::move(extents));
  if (known > size || target.numElements() != size) {
    throw UserError(message("targetShape ", layer.target.toString(), " does not hold the ", size, " values of ",
                            inputs[0].toString()));
  }
  layer.target = target;
  return target;
}

Shape declareLayer(ZeroPadding& layer, const std::string&, Inputs inputs, ParameterTable&) {
  wantRank(inputs[0], 3);
  return limited({inputs[0][0] + layer.vertical.first + layer.vertical.second,
                  inputs[0][1] + layer.horizontal.first + layer.horizontal.second, inputs[0][2]},
                 "output");
}

Shape declareLayer(Rescaling&, const std::string&, Inputs inputs, ParameterTable&) { return inputs[0]; }

Shape declareLayer(Dense& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  int64_t features = inputs[0].extents().back();
  const Weights& weights = layer.weights;
  parameters.add({.name = name + "/kernel",
                  .shape = limited({features, layer.units}, "kernel"),
                  .initializer = weights.kernelInitializer,
                  .fanIn = features,
                  .fanOut = layer.units,
                  .regularizer = weights.kernelRegularizer});
  if (weights.useBias) {
    parameters.add({.name = name + "/bias",
                    .shape = Shape{layer.units},
                    .initializer = weights.biasInitializer,
                    .fanIn = layer.units,
                    .fanOut = layer.units,
                    .regularizer = weights.biasRegularizer});
  }
  return limited(withLast(inputs[0], layer.units), "output");
}

Shape declareLayer(Activation&, const std::string&, Inputs inputs, ParameterTable&) { return inputs[0]; }

Shape declareLayer(Embedding& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  wantRank(inputs[0], 1);
  parameters.add({.name = name + "/embeddings",
                  .shape = limited({layer.inputDim, layer.outputDim}, "embeddings"),
                  .initializer = layer.initializer,
                  .fanIn = layer.inputDim,
                  .fanOut = layer.outputDim,
                  .regularizer = layer.regularizer,
                  .gathered = true});
  return limited({inputs[0][0], layer.outputDim}, "output");
}

Shape declareLayer(Recurrent& layer, const std::string& name, Inputs inputs, ParameterTable& parameters) {
  wantRank(inputs[0], 2);
  int64_t features = inputs[0][1], units = layer.units, width = layer.numGates() * units;
  bool lstm = layer.cell == Recurrent::Cell::kLstm;
  for (const std::string& part : {name, name + "/backward"}) {
    if (part != name && !layer.bidirectional) break;
    parameters.add({.name = part + "/kernel",
                    .shape = limited({features, width}, "kernel"),
                    .initializer = layer.kernelInitializer,
                    .fanIn = features,
                    .fanOut = width,
                    .regularizer = layer.kernelRegularizer});
    parameters.add({.name = part + "/recurrent_kernel",
                    .shape = limited({units, width}, "kernel"),
                    .initializer = layer.recurrentInitializer,
                    .fanIn = units,
                    .fanOut = width});
    if (!layer.useBias) continue;
    Initializer forget = lstm && layer.unitForgetBias ? Initializer::kOnesForForgetGate : Initializer::kZeros;
    parameters.add({.name = part + "/bias", .shape = lstm ? Shape{width} : Shape{2, width}, .initializer = forget});
  }
  int64_t outputs = layer.bidirectional ? 2 * units : units;
  return layer.returnSequences ? limited({inputs[0][0], outputs}, "output") : Shape{outputs};
}

Shape declareLayer(Merge& layer, const std::string&, Inputs inputs, ParameterTable&) {
  if (inputs.size() < 2) throw UserError(message("wants two inputs or more, gets ", inputs.size()));
  int64_t last = 0;
  for (const Shape& input : inputs) {
    last += input.extents().back();
    bool concatenates = layer.how == Merge::How::kConcatenate;
    bool fits = concatenates
                    ? input.rank() == inputs[0].rank() &&
                          std::equal(input.extents().begin(), input.extents().end() - 1, inputs[0].extents().begin())
                    : input == inputs[0];
    if (!fits)
      throw UserError(message("wants inputs of one shape", concatenates ? " but for the last axis" : "", ", gets ",
                              inputs[0].toString(), " and ", input.toString()));
  }
  return layer.how == Merge::How::kConcatenate ? limited(withLast(inputs[0], last), "output") : inputs[0];
}

// In doubles, where products do not overflow.
double flops(const Convolution& layer, const Shape& input, const Shape& output) {
  int64_t channels = input.extents().back();
  return 2.0 * static_cast<double>(output.numElements()) * static_cast<double>(layer.kernelSize.first) *
         static_cast<double>(layer.kernelSize.second) * static_cast<double>(channels / layer.groupsFor(channels));
}
double flops(const Pooling& layer, const Shape&, const Shape& output) {
  return static_cast<double>(output.numElements()) * static_cast<double>(layer.poolSize.first) *
         static_cast<double>(layer.poolSize.second);
}
double flops(const Dense&, const Shape& input, const Shape& output) {
  return 2.0 * static_cast<double>(input.extents().back()) * static_cast<double>(output.numElements());
}
double flops(const Recurrent& layer, const Shape& input, const Shape&) {
  return (layer.bidirectional ? 2.0 : 1.0) * 2.0 * static_cast<double>(input[0]) *
         static_cast<double>(input[1] + layer.units) * static_cast<double>(layer.numGates() * layer.units);
}
double flops(const Input&, const Shape&, const Shape&) { return 0; }
double flops(const Flatten&, const Shape&, const Shape&) { return 0; }
double flops(const Reshape&, const Shape&, const Shape&) { return 0; }
double flops(const Embedding&, const Shape&, const Shape&) { return 0; }
template <typename Any>
double flops(const Any&, const Shape&, const Shape& output) {
  return static_cast<double>(output.numElements());
}

}  // namespace

AxisPadding paddingOf(Padding padding, int64_t extent, int64_t window, int64_t stride, int64_t dilation) {
  if (padding == Padding::kValid) return {};
  int64_t outputs = (extent + stride - 1) / stride, reach = (window - 1) * dilation + 1;
  int64_t total = std::max<int64_t>((outputs - 1) * stride + reach - extent, 0);
  return {total / 2, total - total / 2};
}

Shape imageOf(const Shape& shape) {
  if (shape.rank() >= 3) return shape;
  return shape.rank() == 2 ? Shape{1, shape[0], shape[1]} : Shape{1, 1, shape[0]};
}

Function activationOf(const Layer& layer) {
  if (auto* convolution = std::get_if<Convolution>(&layer)) return convolution->activation;
  if (auto* dense = std::get_if<Dense>(&layer)) return dense->activation;
  if (auto* activation = std::get_if<Activation>(&layer)) return activation->function;
  return Function::kLinear;
}

Shape declare(Layer& layer, const std::string& name, std::span<const Shape> inputs, ParameterTable& parameters) {
  return std::visit([&](auto& any) { return declareLayer(any, name, inputs, parameters); }, layer);
}

bool keepsSteps(const Layer& layer) {
  if (auto* recurrent = std::get_if<Recurrent>(&layer)) return recurrent->returnSequences;
  return std::holds_alternative<Dropout>(layer) || std::holds_alternative<Activation>(layer) ||
         std::holds_alternative<Rescaling>(layer) || std::holds_alternative<Dense>(layer) ||
         std::holds_alternative<BatchNormalization>(layer) || std::holds_alternative<LayerNormalization>(layer) ||
         std::holds_alternative<Normalization>(layer) || std::holds_alternative<Merge>(layer);
}

int64_t flopsOf(const Layer& layer, const Shape& input, const Shape& output) {
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(
      std::min(kMost, std::visit([&](const auto& any) { return flops(any, input, output); }, layer)));
}

}  // namespace bloomery::network
