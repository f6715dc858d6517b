#include "network/Layers.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/Error.h"
#include "base/Names.h"

namespace bloomery::network {

namespace {

const std::vector<std::string>& functionNames() {
  static const std::vector<std::string> kNames = {"linear", "relu", "softmax", "sigmoid"};
  return kNames;
}

template <typename Enum>
Enum enumOf(const std::string& what, const std::string& name, const std::vector<std::string>& names,
            const std::string& where) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError(message(unknownName(what, name, names), ", in ", where));
  return static_cast<Enum>(found - names.begin());
}

Function readFunction(JsonReader& options, const std::string& key, const std::string& byDefault) {
  return enumOf<Function>("activation", options.text(key, byDefault), functionNames(), options.where());
}

Padding readPadding(JsonReader& options) {
  return enumOf<Padding>("padding", options.text("padding", "valid"), {"valid", "same"}, options.where());
}

// Far more than any network needs, and small enough for products of two to be computed.
constexpr int64_t kMaxValues = 1'000'000'000;

int64_t positive(int64_t value, const std::string& key, const JsonReader& options) {
  if (value <= 0) throw UserError(message("Not positive: ", key, " ", value, ", in ", options.where()));
  if (value > kMaxValues) throw UserError(message("Too large: ", key, " ", value, ", in ", options.where()));
  return value;
}

Shape limited(Shape shape, const char* what) {
  double product = 1;
  for (int64_t extent : shape.extents()) product *= static_cast<double>(extent);
  if (product > static_cast<double>(kMaxValues)) {
    throw UserError(message(what, " ", shape.toString(), " holds more than 1e9 values"));
  }
  return shape;
}

std::pair<int64_t, int64_t> positive(std::pair<int64_t, int64_t> value, const std::string& key,
                                     const JsonReader& options) {
  return {positive(value.first, key, options), positive(value.second, key, options)};
}

Layer readInput(JsonReader& options) {
  Input layer;
  std::vector<int64_t> extents = options.integers("shape");
  if (extents.empty()) throw UserError(message("Shape is empty, in ", options.where()));
  double product = 1;
  for (int64_t extent : extents) product *= static_cast<double>(positive(extent, "shape", options));
  if (product > 1e9) throw UserError(message("Shape holds more than 1e9 values, in ", options.where()));
  layer.shape = Shape(std::move(extents));
  layer.dtype = dtypeOf(options.text("dtype", "float32"));
  layer.scale = options.number("scale", 1.0);
  return layer;
}

Layer readConv2D(JsonReader& options) {
  Conv2D layer;
  layer.filters = positive(options.integer("filters"), "filters", options);
  layer.kernelSize = positive(options.pair("kernelSize"), "kernelSize", options);
  layer.strides = positive(options.pair("strides", {1, 1}), "strides", options);
  layer.padding = readPadding(options);
  layer.activation = readFunction(options, "activation", "linear");
  layer.useBias = options.boolean("useBias", true);
  layer.kernelInitializer = initializerOf(options.text("kernelInitializer", "glorot_uniform"));
  layer.biasInitializer = initializerOf(options.text("biasInitializer", "zeros"));
  return layer;
}

Layer readMaxPool2D(JsonReader& options) {
  MaxPool2D layer;
  layer.poolSize = positive(options.pair("poolSize", {2, 2}), "poolSize", options);
  layer.strides = positive(options.pair("strides", layer.poolSize), "strides", options);
  layer.padding = readPadding(options);
  return layer;
}

Layer readDropout(JsonReader& options) {
  Dropout layer{options.number("rate")};
  if (!(layer.rate >= 0.0 && layer.rate < 1.0)) {
    throw UserError(message("Rate outside 0 <= rate < 1: ", layer.rate, ", in ", options.where()));
  }
  return layer;
}

Layer readDense(JsonReader& options) {
  Dense layer;
  layer.units = positive(options.integer("units"), "units", options);
  layer.activation = readFunction(options, "activation", "linear");
  layer.useBias = options.boolean("useBias", true);
  layer.kernelInitializer = initializerOf(options.text("kernelInitializer", "glorot_uniform"));
  layer.biasInitializer = initializerOf(options.text("biasInitializer", "zeros"));
  return layer;
}

Layer readActivation(JsonReader& options) {
  options.value("function");
  return Activation{readFunction(options, "function", "")};
}

const std::map<std::string, std::function<Layer(JsonReader&)>>& readers() {
  static const std::map<std::string, std::function<Layer(JsonReader&)>> kAll = {
      {"Input", readInput},
      {"Conv2D", readConv2D},
      {"MaxPool2D", readMaxPool2D},
      {"Dropout", readDropout},
      {"Flatten", [](JsonReader&) -> Layer { return Flatten{}; }},
      {"Dense", readDense},
      {"Activation", readActivation},
      {"ReLU", [](JsonReader&) -> Layer { return Activation{Function::kRelu}; }},
      {"Softmax", [](JsonReader&) -> Layer { return Activation{Function::kSoftmax}; }},
  };
  return kAll;
}

int64_t windowed(Padding padding, int64_t extent, int64_t window, int64_t stride, const char* what) {
  if (padding == Padding::kSame) return (extent + stride - 1) / stride;
  if (extent < window) throw UserError(message(what, " ", window, " is larger than the input extent ", extent));
  return (extent - window) / stride + 1;
}

void wantRank(const Shape& input, size_t rank, const char* what) {
  if (input.rank() != rank) throw UserError(message("wants ", what, ", gets ", input.toString()));
}

Shape declareLayer(const Input& layer, const std::string&, const Shape&, ParameterTable&) { return layer.shape; }

Shape declareLayer(const Conv2D& layer, const std::string& name, const Shape& input, ParameterTable& parameters) {
  wantRank(input, 3, "(height, width, channels)");
  auto [kernelHeight, kernelWidth] = layer.kernelSize;
  Shape kernel = limited({kernelHeight, kernelWidth, input[2], layer.filters}, "kernel");
  int64_t area = kernelHeight * kernelWidth;
  int64_t fanIn = area * input[2], fanOut = area * layer.filters;
  parameters.add({name + "/kernel", std::move(kernel), layer.kernelInitializer, fanIn, fanOut});
  if (layer.useBias) {
    parameters.add({name + "/bias", Shape{layer.filters}, layer.biasInitializer, layer.filters, layer.filters});
  }
  return limited({windowed(layer.padding, input[0], kernelHeight, layer.strides.first, "kernel height"),
                  windowed(layer.padding, input[1], kernelWidth, layer.strides.second, "kernel width"), layer.filters},
                 "output");
}

Shape declareLayer(const MaxPool2D& layer, const std::string&, const Shape& input, ParameterTable&) {
  wantRank(input, 3, "(height, width, channels)");
  return {windowed(layer.padding, input[0], layer.poolSize.first, layer.strides.first, "pool height"),
          windowed(layer.padding, input[1], layer.poolSize.second, layer.strides.second, "pool width"), input[2]};
}

Shape declareLayer(const Dropout&, const std::string&, const Shape& input, ParameterTable&) { return input; }

Shape declareLayer(const Flatten&, const std::string&, const Shape& input, ParameterTable&) {
  return {input.numElements()};
}

Shape declareLayer(const Dense& layer, const std::string& name, const Shape& input, ParameterTable& parameters) {
  wantRank(input, 1, "(features,): put a Flatten before it");
  parameters.add(
      {name + "/kernel", limited({input[0], layer.units}, "kernel"), layer.kernelInitializer, input[0], layer.units});
  if (layer.useBias) {
    parameters.add({name + "/bias", Shape{layer.units}, layer.biasInitializer, layer.units, layer.units});
  }
  return {layer.units};
}

Shape declareLayer(const Activation&, const std::string&, const Shape& input, ParameterTable&) { return input; }

}  // namespace

AxisPadding paddingOf(Padding padding, int64_t extent, int64_t window, int64_t stride) {
  if (padding == Padding::kValid) return {};
  int64_t outputs = (extent + stride - 1) / stride;
  int64_t total = std::max<int64_t>((outputs - 1) * stride + window - extent, 0);
  return {total / 2, total - total / 2};
}

Layer readLayer(const std::string& kind, JsonReader& options) {
  auto found = readers().find(kind);
  if (found != readers().end()) return found->second(options);
  std::vector<std::string> kinds;
  for (const auto& entry : readers()) kinds.push_back(entry.first);
  throw UserError(message(unknownName("layer kind", kind, kinds), ", in ", options.where()));
}

Function activationOf(const Layer& layer) {
  if (auto* conv = std::get_if<Conv2D>(&layer)) return conv->activation;
  if (auto* dense = std::get_if<Dense>(&layer)) return dense->activation;
  if (auto* activation = std::get_if<Activation>(&layer)) return activation->function;
  return Function::kLinear;
}

std::string nameOf(Function function) { return functionNames()[static_cast<size_t>(function)]; }

std::string kindOf(const Layer& layer) {
  return std::visit([](const auto& any) { return std::string(any.kKind); }, layer);
}

Shape declare(const Layer& layer, const std::string& name, const Shape& input, ParameterTable& parameters) {
  return std::visit([&](const auto& any) { return declareLayer(any, name, input, parameters); }, layer);
}

int64_t flopsOf(const Layer& layer, const Shape& input, const Shape& output) {
  if (auto* conv = std::get_if<Conv2D>(&layer)) {
    return 2 * output.numElements() * conv->kernelSize.first * conv->kernelSize.second * input[2];
  }
  if (std::holds_alternative<Dense>(layer)) return 2 * input[0] * output[0];
  if (std::holds_alternative<Input>(layer) || std::holds_alternative<Flatten>(layer)) return 0;
  return output.numElements();
}

}  // namespace bloomery::network
