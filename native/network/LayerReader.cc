// The options of each layer kind as JSON.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "network/Layers.h"

namespace bloomery::network {

namespace {

const std::vector<std::string>& functionNames() {
  static const std::vector<std::string> kNames = {"linear", "relu",    "leaky_relu", "elu",      "gelu",
                                                  "silu",   "sigmoid", "tanh",       "softplus", "softmax"};
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
  std::string name = options.text(key, byDefault);
  return enumOf<Function>("activation", name == "swish" ? "silu" : name, functionNames(), options.where());
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

Pair positive(Pair value, const std::string& key, const JsonReader& options) {
  return {positive(value.first, key, options), positive(value.second, key, options)};
}

int64_t positiveInteger(JsonReader& options, const std::string& key) {
  return positive(options.integer(key), key, options);
}

// A window of an image, or of a sequence, whose height is 1.
Pair readWindow(JsonReader& options, const std::string& key, int rank, std::optional<Pair> byDefault = std::nullopt) {
  if (byDefault && !options.has(key)) return *byDefault;
  if (rank == 2) return positive(options.pair(key), key, options);
  const Json& json = options.value(key);
  bool listed = json.is_array() && json.size() == 1;
  int64_t value = listed ? options.integers(key)[0] : options.integer(key);
  return {1, positive(value, key, options)};
}

Regularizer readRegularizer(JsonReader& options, const std::string& key) {
  if (!options.has(key)) return {};
  JsonReader reader(options.value(key), message(key, " of ", options.where()));
  Regularizer regularizer{static_cast<float>(reader.number("l1", 0.0)), static_cast<float>(reader.number("l2", 0.0))};
  reader.finish();
  if (!(regularizer.l1 >= 0 && regularizer.l2 >= 0)) {
    throw UserError(
        message("Negative regularizer: l1 ", regularizer.l1, ", l2 ", regularizer.l2, ", in ", reader.where()));
  }
  return regularizer;
}

Initializer readInitializer(JsonReader& options, const std::string& key, const std::string& byDefault) {
  std::string name = options.text(key, byDefault);
  try {
    return initializerOf(name);
  } catch (const UserError& error) {
    throw UserError(message(error.what(), ", in ", options.where()));
  }
}

Weights readWeights(JsonReader& options, const std::string& prefix = "kernel") {
  return {options.boolean("useBias", true), readInitializer(options, prefix + "Initializer", "glorot_uniform"),
          readInitializer(options, "biasInitializer", "zeros"), readRegularizer(options, prefix + "Regularizer"),
          readRegularizer(options, "biasRegularizer")};
}

void checkRank(const std::vector<int64_t>& extents, const JsonReader& options) {
  constexpr size_t kMaxRank = 8;
  if (extents.size() > kMaxRank) {
    throw UserError(message("Too many extents: ", extents.size(), ", at most ", kMaxRank, ", in ", options.where()));
  }
}

Layer readInput(JsonReader& options) {
  Input layer;
  std::vector<int64_t> extents = options.integers("shape");
  if (extents.empty()) throw UserError(message("Shape is empty, in ", options.where()));
  checkRank(extents, options);
  double product = 1;
  for (int64_t extent : extents) product *= static_cast<double>(positive(extent, "shape", options));
  if (product > 1e9) throw UserError(message("Shape holds more than 1e9 values, in ", options.where()));
  layer.shape = Shape(std::move(extents));
  layer.dtype = dtypeOf(options.text("dtype", "float32"));
  layer.scale = options.number("scale", 1.0);
  return layer;
}

Convolution readWindows(JsonReader& options, int rank) {
  Convolution layer;
  layer.rank = rank;
  layer.kernelSize = readWindow(options, "kernelSize", rank);
  layer.strides = readWindow(options, "strides", rank, Pair{1, 1});
  layer.dilation = readWindow(options, "dilationRate", rank, Pair{1, 1});
  layer.padding = readPadding(options);
  layer.activation = readFunction(options, "activation", "linear");
  if (layer.strides != Pair{1, 1} && layer.dilation != Pair{1, 1}) {
    throw UserError(message("Strides and dilationRate cannot both be above 1, in ", options.where()));
  }
  return layer;
}

Layer readConvolution(JsonReader& options, int rank) {
  Convolution layer = readWindows(options, rank);
  layer.filters = positiveInteger(options, "filters");
  layer.groups = positive(options.integer("groups", 1), "groups", options);
  layer.weights = readWeights(options);
  return layer;
}

Layer readDepthwise(JsonReader& options) {
  Convolution layer = readWindows(options, 2);
  layer.depthMultiplier = positive(options.integer("depthMultiplier", 1), "depthMultiplier", options);
  layer.groups = 0;
  layer.weights = readWeights(options, "depthwise");
  return layer;
}

Layer readPooling(JsonReader& options, bool maximum, int rank) {
  Pooling layer{maximum, rank};
  layer.poolSize = readWindow(options, "poolSize", rank, rank == 1 ? Pair{1, 2} : Pair{2, 2});
  layer.strides = readWindow(options, "strides", rank, layer.poolSize);
  layer.padding = readPadding(options);
  return layer;
}

double readEpsilon(JsonReader& options) {
  double epsilon = options.number("epsilon", 1e-3);
  if (!(static_cast<float>(epsilon) > 0)) {
    throw UserError(message("Not positive in float32: epsilon ", epsilon, ", in ", options.where()));
  }
  return epsilon;
}

Layer readBatchNormalization(JsonReader& options) {
  BatchNormalization layer;
  layer.momentum = options.number("momentum", layer.momentum);
  layer.epsilon = readEpsilon(options);
  layer.center = options.boolean("center", true);
  layer.scale = options.boolean("scale", true);
  layer.synchronized = options.boolean("synchronized", false);
  if (!(layer.momentum >= 0 && layer.momentum < 1)) {
    throw UserError(message("Outside 0 <= momentum < 1: ", layer.momentum, ", in ", options.where()));
  }
  return layer;
}

Layer readLayerNormalization(JsonReader& options) {
  LayerNormalization layer;
  layer.epsilon = readEpsilon(options);
  layer.center = options.boolean("center", true);
  layer.scale = options.boolean("scale", true);
  return layer;
}

// A number, or a list of them.
std::vector<float> readStatistic(JsonReader& options, const std::string& key, float smallest) {
  const Json& json = options.value(key);
  std::vector<float> values;
  for (const Json& one : json.is_array() ? json : Json::array({json})) {
    double value = one.is_number() ? one.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(std::abs(value) <= std::numeric_limits<float>::max() && value >= smallest)) {
      throw UserError(message("Wrong ", key, ": ", one.dump(), ", wanted a number within float32",
                              smallest < 0 ? "" : " from 0", " or a list of them, in ", options.where()));
    }
    values.push_back(static_cast<float>(value));
  }
  if (values.empty()) throw UserError(message("List is empty: ", key, ", in ", options.where()));
  return values;
}

Layer readNormalization(JsonReader& options) {
  Normalization layer;
  if (options.has("axis")) {
    bool listed = options.value("axis").is_array();
    layer.axes = listed ? options.integers("axis") : std::vector{options.integer("axis")};
  }
  bool hasMean = options.has("mean");
  if (hasMean != options.has("variance")) {
    throw UserError(message("Only one of mean and variance is given: give both, or none, in ", options.where()));
  }
  if (!hasMean) return layer;
  layer.mean = readStatistic(options, "mean", std::numeric_limits<float>::lowest());
  layer.variance = readStatistic(options, "variance", 0.0f);
  return layer;
}

Layer readDropout(JsonReader& options) {
  Dropout layer{options.number("rate")};
  if (!(layer.rate >= 0.0 && static_cast<float>(layer.rate) < 1.0f)) {
    throw UserError(message("Rate outside 0 <= rate < 1: ", layer.rate, ", in ", options.where()));
  }
  return layer;
}

Layer readReshape(JsonReader& options) {
  std::vector<int64_t> extents = options.integers("targetShape");
  checkRank(extents, options);
  auto unknown = std::count(extents.begin(), extents.end(), -1);
  bool wrong =
      std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < -1 || e == 0 || e > kMaxValues; });
  if (extents.empty() || unknown > 1 || wrong) {
    throw UserError(message("Wrong targetShape: ", Shape(extents).toString(),
                            ", wanted positive extents and at most one -1, in ", options.where()));
  }
  return Reshape{Shape(std::move(extents))};
}

// A number, a pair (vertical, horizontal), or a pair of pairs.
Layer readZeroPadding(JsonReader& options) {
  const Json& json = options.value("padding");
  auto wrong = [&] {
    throw UserError(message("Wrong padding: ", json.dump(),
                            ", wanted a whole number >= 0, a pair, or [[above, below], [left, right]], in ",
                            options.where()));
  };
  auto extent = [&](const Json& one) {
    if (!one.is_number_integer() || one.get<int64_t>() < 0 || one.get<int64_t>() > kMaxValues) wrong();
    return one.get<int64_t>();
  };
  auto axis = [&](const Json& one) -> Pair {
    if (!one.is_array()) return {extent(one), extent(one)};
    if (one.size() != 2) wrong();
    return {extent(one[0]), extent(one[1])};
  };
  if (!json.is_array()) return ZeroPadding{axis(json), axis(json)};
  if (json.size() != 2) wrong();
  return ZeroPadding{axis(json[0]), axis(json[1])};
}

Layer readDense(JsonReader& options) {
  Dense layer;
  layer.units = positiveInteger(options, "units");
  layer.activation = readFunction(options, "activation", "linear");
  layer.weights = readWeights(options);
  return layer;
}

Layer readActivation(JsonReader& options) {
  options.value("function");
  Function function = readFunction(options, "function", "");
  return Activation{function, defaultSlopeOf(function)};
}

Layer readEmbedding(JsonReader& options) {
  Embedding layer;
  layer.inputDim = positiveInteger(options, "inputDim");
  layer.outputDim = positiveInteger(options, "outputDim");
  layer.maskZero = options.boolean("maskZero", false);
  layer.initializer = readInitializer(options, "embeddingsInitializer", "random_uniform");
  layer.regularizer = readRegularizer(options, "embeddingsRegularizer");
  constexpr int64_t kExactInFloat = 1 << 24;
  if (layer.inputDim > kExactInFloat) {
    throw UserError(
        message("Too large: inputDim ", layer.inputDim, ", at most ", kExactInFloat, ", in ", options.where()));
  }
  return layer;
}

Layer readRecurrent(JsonReader& options, Recurrent::Cell cell) {
  Recurrent layer;
  layer.cell = cell;
  layer.units = positiveInteger(options, "units");
  layer.returnSequences = options.boolean("returnSequences", false);
  layer.goBackwards = options.boolean("goBackwards", false);
  layer.bidirectional = options.boolean("bidirectional", false);
  layer.useBias = options.boolean("useBias", true);
  if (cell == Recurrent::Cell::kLstm) layer.unitForgetBias = options.boolean("unitForgetBias", true);
  layer.kernelInitializer = readInitializer(options, "kernelInitializer", "glorot_uniform");
  layer.recurrentInitializer = readInitializer(options, "recurrentInitializer", "orthogonal");
  layer.kernelRegularizer = readRegularizer(options, "kernelRegularizer");
  if (layer.bidirectional && layer.goBackwards) {
    throw UserError(message("goBackwards and bidirectional cannot both be set, in ", options.where()));
  }
  return layer;
}

Layer readConcatenate(JsonReader& options) {
  int64_t axis = options.integer("axis", -1);
  if (axis != -1)
    throw UserError(message("Concatenate works on the last axis, axis -1, found ", axis, ", in ", options.where()));
  return Merge{Merge::How::kConcatenate};
}

Layer functionLayer(Function function, double slope = 0.0) { return Activation{function, slope}; }

using Reader = std::function<Layer(JsonReader&)>;

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> kAll = {
      {"Input", readInput},
      {"Conv1D", [](JsonReader& options) { return readConvolution(options, 1); }},
      {"Conv2D", [](JsonReader& options) { return readConvolution(options, 2); }},
      {"DepthwiseConv2D", readDepthwise},
      {"MaxPool1D", [](JsonReader& options) { return readPooling(options, true, 1); }},
      {"MaxPool2D", [](JsonReader& options) { return readPooling(options, true, 2); }},
      {"AveragePool1D", [](JsonReader& options) { return readPooling(options, false, 1); }},
      {"AveragePool2D", [](JsonReader& options) { return readPooling(options, false, 2); }},
      {"GlobalMaxPool1D", [](JsonReader&) -> Layer { return Pooling{true, 1, true}; }},
      {"GlobalMaxPool2D", [](JsonReader&) -> Layer { return Pooling{true, 2, true}; }},
      {"GlobalAveragePool1D", [](JsonReader&) -> Layer { return Pooling{false, 1, true}; }},
      {"GlobalAveragePool2D", [](JsonReader&) -> Layer { return Pooling{false, 2, true}; }},
      {"BatchNormalization", readBatchNormalization},
      {"LayerNormalization", readLayerNormalization},
      {"Normalization", readNormalization},
      {"Dropout", readDropout},
      {"Flatten", [](JsonReader&) -> Layer { return Flatten{}; }},
      {"Reshape", readReshape},
      {"ZeroPadding2D", readZeroPadding},
      {"Rescaling",
       [](JsonReader& options) -> Layer { return Rescaling{options.number("scale"), options.number("offset", 0.0)}; }},
      {"Dense", readDense},
      {"Activation", readActivation},
      {"ReLU", [](JsonReader&) { return functionLayer(Function::kRelu); }},
      {"LeakyReLU",
       [](JsonReader& options) { return functionLayer(Function::kLeakyRelu, options.number("negativeSlope", 0.3)); }},
      {"ELU", [](JsonReader& options) { return functionLayer(Function::kElu, options.number("alpha", 1.0)); }},
      {"Softmax", [](JsonReader&) { return functionLayer(Function::kSoftmax); }},
      {"Embedding", readEmbedding},
      {"LSTM", [](JsonReader& options) { return readRecurrent(options, Recurrent::Cell::kLstm); }},
      {"GRU", [](JsonReader& options) { return readRecurrent(options, Recurrent::Cell::kGru); }},
      {"Add", [](JsonReader&) -> Layer { return Merge{Merge::How::kAdd}; }},
      {"Multiply", [](JsonReader&) -> Layer { return Merge{Merge::How::kMultiply}; }},
      {"Concatenate", readConcatenate},
  };
  return kAll;
}

}  // namespace

Layer readLayer(const std::string& kind, JsonReader& options) {
  auto found = readers().find(kind);
  if (found != readers().end()) return found->second(options);
  std::vector<std::string> kinds;
  for (const auto& entry : readers()) kinds.push_back(entry.first);
  throw UserError(message(unknownName("layer kind", kind, kinds), ", in ", options.where()));
}

double defaultSlopeOf(Function function) { return function == Function::kLeakyRelu ? 0.2 : 1.0; }

std::string nameOf(Function function) { return functionNames()[static_cast<size_t>(function)]; }

}  // namespace bloomery::network
